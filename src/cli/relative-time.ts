const UNITS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

/**
 * RFC 3339 of a time written relative to now: `30m`, `1h`, `7d` before it, or after it where `ahead`; other text as it is.
 * A date alone is its beginning in UTC.
 */
export function absoluteTime(text: string, now: number, ahead: boolean): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00Z`;
  const match = /^(\d{1,6})([smhdw])$/.exec(text);
  if (!match) return text;
  const ms = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] * 1000;
  return new Date(ahead ? now + ms : now - ms).toISOString();
}
