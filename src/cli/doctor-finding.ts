/** What a check found; `fix` says what to do about it. */
export type Finding = { level: "pass" | "info" | "warn" | "fail"; name: string; detail: string; fix?: string };
