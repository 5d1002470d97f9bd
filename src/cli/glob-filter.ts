import { glob } from "../kernel/glob.ts";
import { type Call, flag } from "./command.ts";
import { membersOf } from "./raw-json.ts";

/** Whether an event, as JSON text, is one that the flags --source, --type and --status ask for. */
export function matcherFor(call: Call): (event: string) => boolean {
  const matching = (name: string) => {
    const pattern = flag(call, name);
    return pattern === undefined ? () => true : glob(pattern);
  };
  const [source, type, status] = [matching("source"), matching("type"), flag(call, "status") ?? "all"];
  return (event) => {
    const members = membersOf(event);
    const text = (name: string) => JSON.parse(members?.get(name) ?? '""') as string;
    return source(text("source")) && type(text("type")) && (status === "all" || status === text("status"));
  };
}
