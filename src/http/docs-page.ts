import { SCOPES } from "../kernel/scopes.ts";
import { OPERATIONS } from "../operations/index.ts";
import { problemTable } from "./openapi.ts";

let page: string | undefined;

/** `/docs`: the reference for people, without a script and from this server alone. */
export function docsPage(): Response {
  page ??= render();
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff",
    },
  });
}

function text(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) => row.map((cell) => `<${tag}>${text(cell)}</${tag}>`).join("");
  return `<table><thead><tr>${cells("th", head)}</tr></thead><tbody>${rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("")}</tbody></table>`;
}

function render(): string {
  const operations = OPERATIONS.map((op) => [
    op.http,
    op.summary,
    "scope" in op.access ? op.access.scope : "person" in op.access ? "a person or the operator" : "any key",
    `postern ${op.cli.command}${(op.cli.args ?? []).map((arg) => ` ${arg.toUpperCase()}`).join("")}`,
  ]);
  const scopes = Object.entries(SCOPES).map(([scope, { allows, kinds }]) => [scope, allows, kinds.join(", ")]);
  const problems = problemTable().map(({ code, status, title }) => [code, String(status), title]);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Postern: reference</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884}
td:first-child{font-family:ui-monospace,monospace;white-space:nowrap}</style>
<h1>Postern</h1><p>The machine-readable reference, with every field, is <a href="/openapi.json">/openapi.json</a>.
Authenticate with <code>Authorization: Bearer pst_…</code>. Providers send to their source's ingest URL, <code>POST /in/…</code>.
Changes of events stream from <code>GET /v1/stream</code>.</p>
<h2>Operations</h2>${table(["HTTP", "What it does", "Needs", "Command"], operations)}
<h2>Scopes</h2>${table(["Scope", "Allows", "Kinds of key"], scopes)}
<h2>Error codes</h2>${table(["Code", "Status", "Meaning"], problems)}</html>`;
}
