import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { idBytes, newId, parseId, typeId, uuidText, uuidV7 } from "../../src/kernel/ids.ts";

const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 });

describe("TypeIDs", () => {
  // The "valid" vectors of the TypeID specification, version 0.3: https://github.com/jetify-com/typeid/blob/main/spec/valid.yml
  test.each([
    ["00000000000000000000000000", "00000000-0000-0000-0000-000000000000"],
    ["00000000000000000000000001", "00000000-0000-0000-0000-000000000001"],
    ["0000000000000000000000000a", "00000000-0000-0000-0000-00000000000a"],
    ["0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"],
    ["00000000000000000000000010", "00000000-0000-0000-0000-000000000020"],
    ["7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    ["0123456789abcdefghjkmnpqrs", "0110c853-1d09-52d8-d73e-1194e95b5f19"],
    ["01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"],
  ])("%s is %s", (suffix, uuid) => {
    const bytes = idBytes("evt", `evt_${suffix}`);
    expect(bytes && uuidText(bytes)).toBe(uuid);
    expect(parseId("evt", uuid)).toBe(`evt_${suffix}`);
    expect(parseId("evt", uuid.toUpperCase())).toBe(`evt_${suffix}`);
  });

  test.each([
    ["another prefix", "src_01h455vb4pex5vsknk084sn02q"],
    ["no prefix", "01h455vb4pex5vsknk084sn02q"],
    ["more than 128 bits", "evt_8zzzzzzzzzzzzzzzzzzzzzzzzz"],
    ["upper case", "evt_01H455VB4PEX5VSKNK084SN02Q"],
    ["a letter that the alphabet leaves out", "evt_01h455vb4pex5vsknk084sn0iq"],
    ["a letter beyond ASCII", "evt_01h455vb4pex5vsknk084sn0éq"],
    ["too short", "evt_01h455vb4pex5vsknk084sn02"],
    ["too long", "evt_01h455vb4pex5vsknk084sn02qq"],
    ["a UUID without hyphens", "01890a5dac96774bbcceb302099a8057"],
    ["nothing", ""],
  ])("%s is no id", (_, text) => {
    expect(parseId("evt", text)).toBeUndefined();
  });

  test("every 16 bytes come back from both of their texts", () => {
    fc.assert(
      fc.property(bytes16, (bytes) => {
        expect(idBytes("key", typeId("key", bytes))).toEqual(bytes);
        expect(idBytes("key", uuidText(bytes))).toEqual(bytes);
        expect(typeId("key", bytes)).toMatch(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
      }),
    );
  });

  test("texts sort as their bytes do", () => {
    fc.assert(
      fc.property(bytes16, bytes16, (a, b) => {
        const [x, y] = [typeId("evt", a), typeId("evt", b)];
        expect(Math.sign(Buffer.compare(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
      }),
    );
  });
});

describe("UUIDv7 (RFC 9562, section 5.7)", () => {
  test("holds its time, version and variant", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (ms) => {
        const text = uuidText(uuidV7(ms));
        expect(Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16)).toBe(ms);
        expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }),
    );
  });

  test("ids of one millisecond sort as they were made, and none comes twice", () => {
    const made = Array.from({ length: 3000 }, () => newId("evt", 1_760_000_000_000));
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  test("none comes twice though the clock is set back and the counter runs over", () => {
    const made = new Set<string>();
    for (const ms of [5, 4, 5]) for (let i = 0; i < 6000; i++) made.add(newId("evt", ms));
    expect(made.size).toBe(18_000);
  });
});
