import { VERSION } from "../kernel/version.ts";
import type { Services } from "../operations/index.ts";

/** `/metrics` in the Prometheus text format. Nothing here names a source, a type or anything from outside. */
export async function metricsText(services: Services): Promise<Response> {
  const memory = process.memoryUsage.rss();
  const { accepted, duplicates, rejected } = services.counters;
  const lines = [
    ...metric("postern_info", "gauge", "The running version", [[`{version="${VERSION}"}`, 1]]),
    ...metric("postern_events", "gauge", "Events by project and status", await eventCounts(services)),
    ...metric("postern_ingest_total", "counter", "Transmissions since the start, by what became of them", [
      ['{outcome="accepted"}', accepted],
      ['{outcome="duplicate"}', duplicates],
      ['{outcome="refused"}', rejected],
    ]),
    ...metric("postern_waiters", "gauge", "Callers that wait for an event", [["", services.inbox.waiters.count]]),
    ...metric("process_resident_memory_bytes", "gauge", "Memory in use", [["", memory]]),
  ];
  return new Response(`${lines.join("\n")}\n`, {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
  });
}

async function eventCounts(services: Services): Promise<[string, number][]> {
  const slugs = new Map(services.projects.list().map(({ id, slug }) => [id, slug]));
  return (await services.tallies.all()).map(({ project, status, count }) => [
    `{project="${slugs.get(project) ?? project}",status="${status}"}`,
    count,
  ]);
}

function metric(
  name: string,
  type: string,
  help: string,
  values: readonly [labels: string, value: number][],
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...values.map(([labels, value]) => `${name}${labels} ${value}`),
  ];
}
