import { describe, expect, test } from "bun:test";
import { accepted, refused } from "./setup.ts";

/** A section with one key, and what must be said of it. */
const IMPOSSIBLE: [toml: string, error: RegExp][] = [
  ["data_dir = ''", /:1: data_dir: must not be empty/],
  ["public_url = 'postern.example.org'", /public_url: must be a URL that begins with https/],
  ["public_url = 'ftp://postern.example.org'", /public_url: must be a URL that begins/],
  ["public_url = 'https://'", /public_url: must be a URL that begins/],
  ["public_url = 'https://a.example/postern'", /public_url: must end after the host or port/],
  ["public_url = 'https://a.example/?a'", /public_url: must end after the host or port/],
  ["public_url = 'https://a.example?'", /public_url: must end after the host or port/],
  ["public_url = 'https://a.example/#a'", /public_url: must end after the host or port/],
  ["public_url = 'https://me:pw@a.example'", /public_url: must not hold a user name or password/],
  ["http.listen = '0.0.0.0'", /:1: http\.listen: must be host:port/],
  ["http.listen = ':8484'", /http\.listen: needs a host before the port/],
  ["http.listen = '127.0.0.1:65536'", /http\.listen: has a port over 65535/],
  ["http.tls_cert = 'a.pem'", /http\.tls_cert: needs `tls_key` beside it/],
  ["http.tls_key = 'a.pem'", /http\.tls_key: needs `tls_cert` beside it/],
  ["http.max_body_bytes = 0", /http\.max_body_bytes: must be from 1 to 1073741824/],
  ["http.max_body_bytes = -1", /http\.max_body_bytes: must be from/],
  ["http.max_body_bytes = 1_073_741_825", /http\.max_body_bytes: must be from/],
  ["http.trusted_proxies = ['10.0.0.0/33']", /http\.trusted_proxies\.0: must be a network/],
  ["smtp.max_message_bytes = 0", /smtp\.max_message_bytes: must be from/],
  ["smtp.tls_cert = 'a.pem'", /smtp\.tls_cert: needs `tls_key`/],
  ["smtp.listen_tls = '127.0.0.1:465'", /smtp\.listen_tls: needs `tls_cert` and `tls_key`/],
  ["smtp.domain = 'bücher.example'", /smtp\.domain: must be a domain name/],
  ["smtp.domain = '@a.example'", /smtp\.domain: must be a domain name/],
  ["smtp.postmaster = 'a@b'", /smtp\.postmaster: must be the name of an email source/],
  ["smtp = { any_domain = true, listen = '[::]:25' }", /:1: smtp\.any_domain: is for loopback listeners only/],
  [
    "smtp = { any_domain = true, listen_tls = '10.0.0.1:1', tls_cert = 'a', tls_key = 'b' }",
    /smtp\.any_domain: is for loop/,
  ],
  ["mail.from = 'nobody'", /mail\.from: must be an address/],
  ['mail.from = "a@b.example>\\r\\nBcc: c@d.example"', /mail\.from: must be an address/],
  ["mail.relay = 'mail.example.org'", /mail\.relay: must be a mail server/],
  ["mail.relay = 'smtp://user@mail.example.org'", /mail\.relay: must have user:password/],
  ["mail.relay = 'smtp://u:%zz@mail.example.org'", /mail\.relay: must have user:password/],
  ["mail.relay = 'mail.example.org:0'", /mail\.relay: must have a port from 1/],
  ["dns.servers = ['dns.example.org']", /dns\.servers\.0: must be the IP address of a name server/],
  ["dns.servers = ['127.0.0.1:0']", /dns\.servers\.0: must have a port/],
  ["delivery.header_prefix = 'A B'", /delivery\.header_prefix: must be 1 to 32 letters/],
  ["delivery.header_prefix = 'Webhook'", /delivery\.header_prefix: must not be webhook/],
  ["delivery.allow_networks = ['localhost']", /delivery\.allow_networks\.0: must be a network/],
  ["delivery.proxy = 'proxy:3128'", /delivery\.proxy: must be a URL such as/],
  ["delivery.proxy = 'http://proxy:3128/path'", /delivery\.proxy: must end after the port/],
  ["delivery.route_concurrency = 0", /delivery\.route_concurrency: must be from 1 to 1024/],
  ["delivery.route_concurrency_per_endpoint = 5000", /delivery\.route_concurrency_per_endpoint: must be from/],
  ["requests.deciders = ['ann']", /requests\.deciders\.0: must be a mail address/],
  ["retention.payload_days = 0", /retention\.payload_days: must be from 1 to 36500/],
  ["retention.changes_hours = -3", /retention\.changes_hours: must be from 1/],
];

describe("an impossible value is refused at its key", () => {
  test.each(IMPOSSIBLE)("%s", (toml, error) => {
    const errors = refused({ toml });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(error);
  });
});

const source = (keys: string) => `[[projects]]\nname = 'a'\n[[projects.sources]]\nname = 'b'\n${keys}`;
const route = (keys: string) => `[[projects]]\nname = 'a'\n[[projects.routes]]\nname = 'b'\n${keys}`;
const webhook = "channel = 'webhook'\nkind = 'hmac_sha256'\n";
const email = "channel = 'email'\nkind = 'email'\n";
const url = "callback_url = 'https://a.example'\n";

const IMPOSSIBLE_DECLARATIONS: [toml: string, error: RegExp][] = [
  [
    source(`${webhook}secret = 'x'\nsecret_env = 'X'`),
    /:8: projects\.0\.sources\.0\.secret_env: stands beside `secret`/,
  ],
  [
    source(`${webhook}secret_file = 'x'\nsecret_env = 'X'`),
    /\.secret_file: stands beside `secret_env`; give only one of/,
  ],
  [source(`${webhook}secret = ''`), /:7: projects\.0\.sources\.0\.secret: must not be empty/],
  [source(`${webhook}secret_env = 'A B'`), /\.secret_env: must be the name of an environment variable/],
  [source(`${webhook}encoding = 'base32'`), /\.encoding: must be hex or base64/],
  [source(`${webhook}header = 'a b'`), /\.header: must be the name of an HTTP header/],
  [source(`${webhook}signed = 'body'`), /\.signed: must hold \{body\}/],
  [source(`${webhook}signed = '{time}{body}'`), /\.signed: may hold \{body\} and \{timestamp\} and no other braces/],
  [source(`${webhook}signed = '{timestamp}{body}'`), /\.signed: holds \{timestamp\}, so it needs `timestamp_header`/],
  [source(`${webhook}tolerance_seconds = 0`), /\.tolerance_seconds: must be from 1/],
  [source(`${webhook}rate_limit = { requests = 0, per_seconds = 1 }`), /\.rate_limit\.requests: must be from 1/],
  [source(`${webhook}type_from = {}`), /\.type_from\.pointer: must be given, or `header`/],
  [source(`${webhook}type_from = { pointer = '/a', header = 'b' }`), /\.type_from\.header: stands beside `pointer`/],
  [source(`${webhook}type_from = { pointer = 'a' }`), /\.type_from\.pointer: must be a JSON pointer/],
  [source(`${webhook}local_part = 'x'`), /\.local_part: is for email sources only/],
  [source(`${webhook}signals_unverified = true`), /\.signals_unverified: needs `signals = true`/],
  [source(`${email}secret = 'x'`), /\.secret: is for webhook sources only/],
  [source(`${email}local_part = 'a+b'`), /\.local_part: must be the part before the @/],
  [source(`${email}local_part = 'a..b'`), /\.local_part: must be the part before the @/],
  [
    source("channel = 'email'\nkind = 'stripe'"),
    /:6: projects\.0\.sources\.0\.kind: must be email where channel is email/,
  ],
  [source("channel = 'webhook'\nkind = 'email'"), /\.kind: must be the kind of a webhook/],
  [
    `[[projects]]\nname = 'a'\nsources = [{ name = 'postern', channel = 'email', kind = 'email' }]`,
    /:3: .*\.name: is reserved/,
  ],
  ["[[projects]]\nname = 'A'", /projects\.0\.name: must be 1 to 63 lower-case/],
  ["[[projects]]\nname = 'a'\n[[projects]]\nname = 'a'", /:4: projects\.1\.name: is used by an earlier one/],
  [
    `${source(webhook)}[[projects.sources]]\nname = 'b'\n${email}`,
    /:8: projects\.0\.sources\.1\.name: is used by an earlier/,
  ],
  [route(`${url}secret_env = 'A'\nsecret_file = 'b'`), /\.secret_file: stands beside `secret_env`/],
  [route("callback_url = 'https://me:pw@a.example'"), /\.callback_url: must not hold a user name or password/],
  [route(`${url}secret = 'x'`), /\.secret: unknown key\. Did you mean `secret_env` or `secret_file`\?/],
  [route(`${url}headers = { 'a b' = 'x' }`), /\.headers\."a b": must be the name of an HTTP header/],
  [route(`${url}headers = { a = "x\\r\\ny: z" }`), /\.headers\.a: must not hold control characters/],
  [route(`${url}match_type = ''`), /\.match_type: must not be empty/],
];

describe("an impossible declaration is refused at its key", () => {
  test.each(IMPOSSIBLE_DECLARATIONS)("%j", (toml, error) => {
    const errors = refused({ toml });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(error);
  });
});

describe("what is possible is taken", () => {
  test.each([
    ["http.listen = '127.0.0.1:0'"],
    ["http.listen = '[::]:443'"],
    ["http.listen = 'localhost:8484'"],
    ["http = { tls_cert = 'a.pem', tls_key = 'b.pem' }"],
    ["http.trusted_proxies = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1']"],
    ["smtp = { any_domain = true, listen = '[::1]:25' }"],
    ["smtp = { any_domain = true, listen = 'localhost:25' }"],
    ["smtp.postmaster = 'shop/office'"],
    ["mail = { from = 'Postern <postern@example.org>', relay = 'smtps://me:p%40ss@mail.example.org' }"],
    ["mail.relay = '127.0.0.1:2526'"],
    ["dns.servers = ['127.0.0.1:5353', '::1', '[::1]:53', '9.9.9.9']"],
    ["delivery.proxy = 'http://me:pw@proxy.example.org:3128'"],
    ["delivery.header_prefix = 'Acme'"],
    ["requests.deciders = ['ann+postern@example.org']"],
    [source(`${webhook}prefix = ''\nsigned = 'v0:{timestamp}:{body}'\ntimestamp_header = 'x-time'`)],
    [source(`${webhook}type_from = { pointer = '' }\nrate_limit = { requests = 1, per_seconds = 60 }`)],
    [source(`${email}catch_all = true\nlocal_part = 'info'`)],
    [route(`${url}headers = { x-token = 'a' }\nmatch_type = 'invoice.*'`)],
  ])("%j", (toml) => {
    expect(accepted({ toml }).file).toBe("postern.toml");
  });

  test("a public URL loses its final slash and its upper case", () => {
    expect(accepted({ toml: "public_url = 'HTTPS://Postern.Example.ORG:443/'" }).config.public_url).toBe(
      "https://postern.example.org",
    );
  });

  test("keys of a source that are not given are left to its kind", () => {
    const { config } = accepted({ toml: source(webhook) });
    expect(config.projects).toEqual([
      { name: "a", sources: [{ name: "b", channel: "webhook", kind: "hmac_sha256" }], routes: [] },
    ]);
  });
});
