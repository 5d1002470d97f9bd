import type { Command, Flag } from "./command.ts";

const FILTERS: readonly Flag[] = [
  { name: "source", doc: "The source's name, or a glob", takes: "value", metavar: "TEXT" },
  { name: "type", doc: "The type, or a glob such as `invoice.*`", takes: "value", metavar: "TEXT" },
];
const STATUSES = ["pending", "claimed", "done", "failed", "dead", "all"];

/** The commands that are no operation. Each loads what it needs when it runs. */
export const OWN_COMMANDS: readonly Command[] = [
  {
    words: ["serve"],
    summary: "Run the daemon",
    details: "Needs no configuration. Ends politely on SIGTERM; SIGHUP reloads the configuration file.",
    args: [],
    flags: [],
    examples: ["postern serve", "postern serve --config /etc/postern/postern.toml"],
    run: async (call) => (await import("./serve.ts")).runServe(call),
  },
  {
    words: ["init"],
    summary: "Write a configuration file with every key explained",
    args: [
      {
        name: "file",
        doc: "Where to; ./postern.toml by default. One that is there is not overwritten",
        required: false,
      },
    ],
    flags: [],
    run: async (call) => (await import("./config-commands.ts")).runInit(call),
  },
  {
    words: ["check"],
    summary: "Check the configuration, and say all that is wrong with file and line",
    args: [],
    flags: [],
    run: async (call) => (await import("./config-commands.ts")).runCheck(call),
  },
  {
    words: ["config", "dump"],
    summary: "Print the effective configuration, secrets masked",
    args: [],
    flags: [{ name: "origins", doc: "Say where each value comes from", takes: "switch", default: "false" }],
    run: async (call) => (await import("./config-commands.ts")).runDump(call),
  },
  {
    words: ["doctor"],
    summary: "Look for what is wrong with this installation, and say how to mend it",
    args: [],
    flags: [],
    run: async (call) => (await import("./doctor.ts")).runDoctor(call),
  },
  {
    words: ["login"],
    summary: "Save a daemon's URL and a key for the commands to come",
    details: "Asks for the key where none is given, checks it, and saves both for the owner's eyes only.",
    args: [{ name: "name", doc: "What to call it; `default` otherwise", required: false }],
    flags: [],
    examples: [
      "postern login --url https://postern.example.org",
      "postern login work --url http://127.0.0.1:8484 --key -",
    ],
    run: async (call) => (await import("./login.ts")).runLogin(call),
  },
  {
    words: ["logout"],
    summary: "Forget a saved profile",
    args: [{ name: "name", doc: "Which; the one in use by default", required: false }],
    flags: [],
    run: async (call) => (await import("./login.ts")).runLogout(call),
  },
  {
    words: ["use"],
    summary: "Show the saved profiles, or switch to one",
    details:
      "`postern use -` uses none: the commands take the operator's socket. With --project it sets the default project.",
    args: [{ name: "name", doc: "The profile to use from now on", required: false }],
    flags: [],
    examples: ["postern use", "postern use work", "postern use - --project shop"],
    run: async (call) => (await import("./login.ts")).runUse(call),
  },
  {
    words: ["inbox", "watch"],
    summary: "Print events as they arrive and change, until interrupted",
    details: "Resumes by itself where the connection breaks. --jsonl prints each event as it came.",
    args: [],
    flags: [
      ...FILTERS,
      { name: "status", doc: "Only changes to this status", takes: "value", choices: STATUSES, default: "all" },
      { name: "count", doc: "End after so many", takes: "value", metavar: "N" },
      { name: "last-event-id", doc: "Begin after this change", takes: "value", metavar: "ID" },
    ],
    examples: ["postern inbox watch --type 'invoice.*'", "postern inbox watch --jsonl --status pending"],
    run: async (call) => (await import("./watch.ts")).runWatch(call),
  },
  {
    words: ["inbox", "export"],
    summary: "Write whole events as JSON, one a line",
    details: "Oldest first. A body that lies apart is not in it: its event has `payload_url`, a link for an hour.",
    args: [],
    flags: [
      ...FILTERS,
      { name: "status", doc: "Only of this status", takes: "value", choices: STATUSES, default: "all" },
      { name: "channel", doc: "The channel it came in by", takes: "value", choices: ["webhook", "email", "system"] },
      { name: "verified", doc: "Only events that are, or are not, verified", takes: "switch" },
      { name: "since", doc: "Received at or after", takes: "value", metavar: "TIME" },
      { name: "until", doc: "Received before", takes: "value", metavar: "TIME" },
      { name: "q", doc: "A part of type or source", takes: "value", metavar: "TEXT" },
      { name: "file", doc: "Where to; one that is there is not overwritten", takes: "value", metavar: "FILE" },
    ],
    examples: ["postern inbox export --since 7d --file events.jsonl"],
    run: async (call) => (await import("./export.ts")).runExport(call),
  },
  {
    words: ["trigger"],
    summary: "Send a sample event to a source, signed as its provider signs",
    args: [{ name: "source", doc: "The source's name or id, or an ingest URL", required: true }],
    flags: [
      {
        name: "body",
        doc: "The body to send; `-` reads standard input. A sample otherwise",
        takes: "value",
        metavar: "FILE",
      },
      { name: "type", doc: "The sample's type", takes: "value", metavar: "TEXT" },
      {
        name: "secret",
        doc: "The source's secret, `-` to read it from standard input",
        takes: "value",
        metavar: "TEXT",
      },
      { name: "kind", doc: "How to sign, where the source is a URL", takes: "value", metavar: "KIND" },
      { name: "content-type", doc: "The body's type", takes: "value", default: "application/json" },
    ],
    examples: ["postern trigger hello", "postern trigger billing --type invoice.paid --secret - < secret.txt"],
    run: async (call) => (await import("./trigger.ts")).runTrigger(call),
  },
  {
    words: ["backup"],
    summary: "Write the whole data folder into one archive, while the daemon runs",
    details:
      "A plain tar with postern.db, master.key and blobs/, as they stood at one moment, and their SHA-256 sums. Runs on the daemon's machine, " +
      "as its user or root, and does not disturb it.",
    args: [{ name: "file", doc: "Where to; one that is there is not overwritten", required: true }],
    flags: [],
    examples: ["postern backup /var/backups/postern-monday.tar"],
    run: async (call) => (await import("./backup.ts")).runBackup(call),
  },
  {
    words: ["restore"],
    summary: "Put a backup in place of the data folder",
    details: "Checks all of it first. Refuses while a daemon runs on the folder, and where it holds a database.",
    args: [{ name: "file", doc: "What `postern backup` wrote", required: true }],
    flags: [
      { name: "data-dir", doc: "The folder; the configuration's by default", takes: "value", metavar: "DIR" },
      { name: "force", doc: "Move the data that is there aside", takes: "switch", default: "false" },
    ],
    examples: ["postern restore postern-monday.tar --data-dir ./postern-data"],
    run: async (call) => (await import("./backup.ts")).runRestore(call),
  },
  {
    words: ["version"],
    summary: "Print the version",
    args: [],
    flags: [],
    run: async (call) => (await import("./version.ts")).runVersion(call),
  },
  {
    words: ["completions"],
    summary: "Print a shell's completion script",
    args: [{ name: "shell", doc: "bash, zsh or fish", required: true, choices: () => ["bash", "zsh", "fish"] }],
    flags: [],
    examples: [
      'eval "$(postern completions bash)"',
      "postern completions zsh > ~/.zfunc/_postern",
      "postern completions fish > ~/.config/fish/completions/postern.fish",
    ],
    run: async (call) => (await import("./completions.ts")).runCompletions(call),
  },
];
