/** The kinds of API key. `mgmt` is how a management key's token spells its kind. */
export const KEY_KINDS = ["management", "application", "intake"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

const M = ["management"] as const;
const MA = ["management", "application"] as const;
const MAI = KEY_KINDS;

/** Every scope with what it allows and which kinds of key may hold it. */
export const SCOPES = {
  "inbox:read": { allows: "list, wait, get, stream and export events", kinds: MA },
  "inbox:write": { allows: "claim, ack, nack, extend, release and settle events", kinds: MA },
  "inbox:requeue": { allows: "requeue events and purge one event", kinds: MA },
  "inbox:raw": { allows: "read the raw message", kinds: M },
  "sources:read": { allows: "read sources", kinds: M },
  "sources:write": { allows: "create and change sources", kinds: M },
  "routes:read": { allows: "read routes and deliveries", kinds: M },
  "routes:write": { allows: "create, change and replay routes", kinds: M },
  "keys:read": { allows: "read keys", kinds: M },
  "keys:write": { allows: "create and change keys", kinds: M },
  "event_destinations:read": { allows: "read event destinations", kinds: M },
  "event_destinations:write": { allows: "create and change event destinations", kinds: M },
  "errors:read": { allows: "read issues", kinds: MA },
  "alerts:read": { allows: "read alerts", kinds: MA },
  "incidents:read": { allows: "read incidents", kinds: MA },
  "signals:write": { allows: "report signals", kinds: MAI },
  "requests:read": { allows: "read requests", kinds: MA },
  "requests:write": { allows: "ask and cancel requests", kinds: MA },
  "mcp:read": { allows: "read over MCP", kinds: MA },
  "mcp:write": { allows: "act over MCP", kinds: MA },
} as const satisfies Record<string, { allows: string; kinds: readonly KeyKind[] }>;

export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]];

/** The scopes that a kind of key may hold. */
export function scopesOfKind(kind: KeyKind): Scope[] {
  return SCOPE_NAMES.filter((scope) => (SCOPES[scope].kinds as readonly KeyKind[]).includes(kind));
}

export const PRESETS = ["agent", "operator", "reporter"] as const;
export type Preset = (typeof PRESETS)[number];

/** The scopes a preset stands for, for one kind of key; empty where the kind can hold none of them. */
export function presetScopes(preset: Preset, kind: KeyKind): Scope[] {
  const held = scopesOfKind(kind);
  if (preset === "operator") return held;
  if (preset === "reporter") return held.filter((scope) => scope === "signals:write");
  const agent: readonly Scope[] = scopesOfKind("application").filter((scope) => scope !== "inbox:requeue");
  return held.filter((scope) => agent.includes(scope));
}
