import { expect, test } from "bun:test";
import { invalid, isProblem, PROBLEMS, Problem, type ProblemCode } from "../../src/kernel/problems.ts";

test("a problem's body is RFC 9457's, with the code, what is beside it, and nothing of its headers", () => {
  const problem = new Problem("LEASE_NOT_HELD", "the lease has run out", {
    extra: { event_status: "pending" },
    headers: { "retry-after": "5" },
  });
  expect(JSON.parse(JSON.stringify(problem))).toEqual({
    type: "urn:postern:problem:lease-not-held",
    title: "The lease is not held",
    status: 409,
    detail: "the lease has run out",
    code: "LEASE_NOT_HELD",
    event_status: "pending",
  });
});

test("what is beside it cannot hide the code or the status of the list", () => {
  for (const code of Object.keys(PROBLEMS) as ProblemCode[]) {
    const body = new Problem(code, "why").toJSON();
    expect(body).toMatchObject({ code, status: PROBLEMS[code][0], title: PROBLEMS[code][1] });
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
  }
});

// Binding: the contract names these codes with these statuses.
test.each([
  ["UNAUTHENTICATED", 401],
  ["SIGNATURE_INVALID", 401],
  ["SCOPE_MISSING", 403],
  ["KEY_FROZEN", 403],
  ["KEY_CONTAINED", 403],
  ["KEY_REVOKED", 403],
  ["KEY_EXPIRED", 403],
  ["OWNER_SUSPENDED", 403],
  ["INVALID_JSON", 400],
  ["PAYLOAD_TOO_LARGE", 413],
  ["INVALID_REQUEST", 422],
  ["RESULT_TOO_LARGE", 422],
  ["SOURCE_NAME_RESERVED", 422],
  ["NOT_FOUND", 404],
  ["EVENT_NOT_CLAIMABLE", 409],
  ["EVENT_ROUTED", 409],
  ["LEASE_NOT_HELD", 409],
  ["LEASE_REQUIRED", 409],
  ["RELEASE_LIMIT", 409],
  ["MANAGED_BY_CONFIG", 409],
  ["IDEMPOTENCY_MISMATCH", 409],
  ["IDEMPOTENCY_IN_PROGRESS", 409],
  ["STORAGE_UNAVAILABLE", 503],
] as const)("%s is %d", (code, status) => {
  expect(new Problem(code, "why").status).toBe(status);
});

test("a validation error names the place and what is wrong there", () => {
  const problem = invalid("subscriptions.0.type", "must be a string");
  expect(problem.toJSON()).toMatchObject({
    status: 422,
    code: "INVALID_REQUEST",
    detail: "subscriptions.0.type: must be a string",
    errors: [{ path: "subscriptions.0.type", message: "must be a string" }],
  });
  expect(invalid("", "the body must be an object").detail).toBe("the body must be an object");
});

test("a problem is a value, and an error is none", () => {
  expect(isProblem(invalid("a", "b"))).toBe(true);
  expect(isProblem(new Error("NOT_FOUND"))).toBe(false);
  expect(isProblem(undefined)).toBe(false);
});
