import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cidrSet, parseCidr } from "../../src/config/cidr.ts";
import { isLoopback, parseListen } from "../../src/config/listen.ts";
import { parseRelay } from "../../src/config/relay.ts";
import { parseServer } from "../../src/config/server-address.ts";

describe("an address to listen on", () => {
  test.each([
    ["127.0.0.1:8484", "127.0.0.1", 8484],
    ["0.0.0.0:0", "0.0.0.0", 0],
    ["[::1]:25", "::1", 25],
    ["[fe80::1%eth0]:1", "fe80::1%eth0", 1],
    ["LocalHost:65535", "localhost", 65_535],
  ])("%s", (text, host, port) => {
    expect(parseListen(text)).toEqual({ host, port });
  });

  test.each([
    "",
    ":1",
    "*:1",
    "8484",
    "::1",
    "::1:80",
    "[127.0.0.1]:1",
    "[::1]",
    "1.2.3.4",
    "1.2.3.4:",
    "1.2.3.4:-1",
    "1.2.3.4:1e3",
  ])("%j is none", (text) => expect(parseListen(text)).toHaveProperty("wrong"));
  test.each([
    "example.org:80",
    "010.0.0.1:80",
    "1.2.3:80",
    "1.2.3.4:65536",
    "1.2.3.4:8 ",
    "http://1.2.3.4:80",
    "unix:/run/x",
  ])("%j is none", (text) => expect(parseListen(text)).toHaveProperty("wrong"));

  test("is loopback where only this machine reaches it", () => {
    for (const host of ["127.0.0.1", "127.9.9.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "localhost"]) {
      expect([host, isLoopback(host)]).toEqual([host, true]);
    }
    for (const host of [
      "0.0.0.0",
      "::",
      "128.0.0.1",
      "10.0.0.1",
      "::ffff:10.0.0.1",
      "::127.0.0.1",
      "localhost.example.org",
    ]) {
      expect([host, isLoopback(host)]).toEqual([host, false]);
    }
  });
});

test("a name server has port 53 where none is given", () => {
  expect(parseServer("192.0.2.1")).toEqual({ host: "192.0.2.1", port: 53 });
  expect(parseServer("127.0.0.1:5353")).toEqual({ host: "127.0.0.1", port: 5353 });
  expect(parseServer("2001:db8::1")).toEqual({ host: "2001:db8::1", port: 53 });
  expect(parseServer("[2001:db8::1]:54")).toEqual({ host: "2001:db8::1", port: 54 });
});

test("a relay's form says how TLS begins", () => {
  expect(parseRelay("smtp://mail.example.org")).toEqual({ host: "mail.example.org", port: 587, tls: "starttls" });
  expect(parseRelay("smtps://a:b%3Ac@[::1]:4650")).toEqual({
    ...{ host: "::1", port: 4650, tls: "implicit" },
    ...{ user: "a", password: "b:c" },
  });
  expect(parseRelay("127.0.0.1:25")).toEqual({ host: "127.0.0.1", port: 25, tls: "starttls" });
});

describe("a network", () => {
  test.each([
    ["10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "::ffff:a01:203"], ["9.255.255.255", "11.0.0.0"]],
    ["192.168.1.7", ["192.168.1.7", "::ffff:192.168.1.7"], ["192.168.1.6", "192.168.1.8"]],
    ["192.168.1.7/24", ["192.168.1.0", "192.168.1.255"], ["192.168.2.0"]],
    ["fd00::/8", ["fd12::1", "fdff::", "fd00::1%eth0"], ["fe00::1", "fc00::1", "10.0.0.1"]],
    ["::/0", ["::1", "2001:db8::1"], ["10.0.0.1", "::ffff:10.0.0.1"]],
    ["0.0.0.0/0", ["10.0.0.1", "::ffff:10.0.0.1"], ["::1", "2001:db8::1"]],
    ["::ffff:10.0.0.0/104", ["10.9.9.9", "::ffff:10.9.9.9"], ["11.0.0.0", "::ffff:11.0.0.0"]],
  ])("%s", (network, inside, outside) => {
    const set = cidrSet([network]);
    expect(inside.filter((address) => !set.contains(address))).toEqual([]);
    expect(outside.filter((address) => set.contains(address))).toEqual([]);
  });

  test.each([
    "",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0/8",
    "::/129",
    "localhost",
    "fe80::1%eth0/64",
    "010.0.0.0/8",
    "1.2.3.4/8/8",
  ])("%j is none", (text) => expect(parseCidr(text)).toBeUndefined());

  test("what is no address is in none", () => {
    expect(cidrSet(["0.0.0.0/0", "::/0"]).contains("10.0.0.1.example.org")).toBe(false);
    expect(cidrSet(["0.0.0.0/0", "::/0"]).contains("")).toBe(false);
  });

  test("holds exactly the addresses with its leading bits", () => {
    const bits = (address: string) =>
      address
        .split(".")
        .map((part) => Number(part).toString(2).padStart(8, "0"))
        .join("");
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (network, address, prefix) => {
        const expected = bits(network).slice(0, prefix) === bits(address).slice(0, prefix);
        const set = cidrSet([`${network}/${prefix}`]);
        expect(set.contains(address)).toBe(expected);
        expect(set.contains(`::ffff:${address}`)).toBe(expected);
        expect(set.contains(network)).toBe(true);
      }),
    );
  });
});
