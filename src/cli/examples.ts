/** Command lines to copy, by command. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  "inbox list": [
    "postern inbox list",
    "postern inbox list --status dead --type 'invoice.*' --since 7d",
    "postern inbox list --status all --jsonl",
  ],
  "inbox wait": ["postern inbox wait --timeout-seconds 60 --type 'invoice.*'"],
  "inbox claim": [
    "postern inbox claim evt_01k6xyh4w1f4mr3n7v0e8a2b9c --lease-seconds 60",
    "postern inbox claim --max 10 --wait-seconds 30 --json",
  ],
  "inbox ack": [
    'postern inbox ack evt_01k6xyh4w1f4mr3n7v0e8a2b9c --result \'{"refund":"re_1"}\'',
    "postern inbox ack evt_01k6xyh4w1f4mr3n7v0e8a2b9c --result done",
  ],
  "inbox nack": ["postern inbox nack evt_01k6xyh4w1f4mr3n7v0e8a2b9c --reason 'the shop is down'"],
  "inbox settle": ['postern inbox settle --items \'[{"id":"evt_01k6xyh4w1f4mr3n7v0e8a2b9c","action":"ack"}]\''],
  "inbox requeue": [
    "postern inbox requeue evt_01k6xyh4w1f4mr3n7v0e8a2b9c",
    "postern inbox requeue --status dead --source billing --dry-run",
  ],
  "inbox show": ["postern inbox show evt_01k6xyh4w1f4mr3n7v0e8a2b9c"],
  "sources create": [
    "postern sources create --name hello --kind unsigned",
    "postern sources create --name billing --kind stripe --secret - < secret.txt",
  ],
  "sources rotate-secret": ["postern sources rotate-secret billing --secret - --grace-seconds 3600 < secret.txt"],
  "keys create": [
    "postern keys create --name worker --kind application --preset agent",
    "postern keys create --name reader --kind application --scopes inbox:read --expires-at 30d",
  ],
  "projects create": ["postern projects create 'My Shop'"],
};
