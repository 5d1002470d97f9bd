import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { randomToken, sameBytes, sha256Of, Vault } from "../../src/kernel/secrets.ts";

test("SHA-256 of bytes and of a text's UTF-8 (FIPS 180-4's example)", () => {
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect(Buffer.from(sha256Of("abc")).toString("hex")).toBe(abc);
  expect(Buffer.from(sha256Of(new Uint8Array([0x61, 0x62, 0x63]))).toString("hex")).toBe(abc);
});

test("bytes are the same only where every one is, and lengths too", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      expect(sameBytes(a, b)).toBe(Buffer.compare(a, b) === 0);
      expect(sameBytes(a, Uint8Array.from(a))).toBe(true);
    }),
  );
});

test("tokens are base64url of as many random bytes as asked for, never the same", () => {
  const tokens = new Set(Array.from({ length: 1000 }, () => randomToken(24)));
  expect(tokens.size).toBe(1000);
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{32}$/);
});

describe("the vault", () => {
  const vault = new Vault(randomBytes(32));

  test("opens what it sealed, of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        // A lone surrogate has no UTF-8; what comes back is what UTF-8 can hold.
        expect(vault.open("secrets", vault.seal("secrets", text))).toBe(text.toWellFormed());
      }),
    );
  });

  test("opens nothing for another purpose, under another master key, or that was altered in any byte", () => {
    const sealed = vault.seal("secrets", "whsec_1");
    expect(vault.open("links", sealed)).toBeUndefined();
    expect(new Vault(randomBytes(32)).open("secrets", sealed)).toBeUndefined();
    for (let i = 0; i < sealed.length; i++) {
      const altered = Uint8Array.from(sealed);
      altered[i] = (altered[i] ?? 0) ^ 1;
      expect(vault.open("secrets", altered)).toBeUndefined();
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(vault.open("secrets", sealed.subarray(0, length))).toBeUndefined();
    }
  });

  test("seals the same text differently each time, and without the text in it", () => {
    const [a, b] = [vault.seal("secrets", "whsec_plain"), vault.seal("secrets", "whsec_plain")];
    expect(Buffer.from(a).equals(Buffer.from(b))).toBe(false);
    expect(Buffer.from(a).includes("whsec_plain")).toBe(false);
  });

  test("has one key of 32 bytes a purpose, the same in another run with the same master key", () => {
    const master = randomBytes(32);
    const [one, other] = [new Vault(master), new Vault(master)];
    expect(one.keyFor("links")).toEqual(other.keyFor("links"));
    expect(one.keyFor("links")).toHaveLength(32);
    expect(one.keyFor("links")).not.toEqual(one.keyFor("seal.secrets"));
    expect(one.keyFor("links")).not.toEqual(master);
  });

  test("takes no master key of another length", () => {
    expect(() => new Vault(randomBytes(16))).toThrow("32 bytes");
  });
});
