/** Batches of chats for tests: their creation, their state, and the answers in their output files. */
import type { TestGateway } from "./test-gateway.ts";

export interface ShownBatch {
  readonly status: string;
  readonly request_counts: object;
  readonly output_file_id: string | null;
}

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

/** Creates a batch with one line for each element, whose fields are added to a short chat. Returns the id of the batch. */
export async function batchOfLines({ url }: TestGateway, key: string, lines: readonly object[]): Promise<string> {
  const rows = lines.map((fields, at) => {
    const body = { model: "m", messages: [{ role: "user", content: "one two" }], ...fields };
    return JSON.stringify({ custom_id: `line-${at}`, method: "POST", url: "/v1/chat/completions", body });
  });
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([rows.join("\n")]), "lines.jsonl");
  const sent = await fetch(`${url}/v1/files`, { method: "POST", headers: bearer(key), body: form });
  const file = (await sent.json()) as { id: string };
  const batch = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const asked = { method: "POST", headers: { ...bearer(key), "content-type": "application/json" } };
  const created = await fetch(`${url}/v1/batches`, { ...asked, body: JSON.stringify(batch) });
  return ((await created.json()) as { id: string }).id;
}

export async function shownBatch({ url }: TestGateway, key: string, id: string): Promise<ShownBatch> {
  return (await (await fetch(`${url}/v1/batches/${id}`, { headers: bearer(key) })).json()) as ShownBatch;
}

/** Bodies of the answers in the output file of a batch that has ended. */
export async function answersOf(gateway: TestGateway, key: string, id: string): Promise<readonly object[]> {
  const { output_file_id: file } = await shownBatch(gateway, key, id);
  const output = await fetch(`${gateway.url}/v1/files/${file}/content`, { headers: bearer(key) });
  const rows = (await output.text()).split("\n").filter((row) => row !== "");
  return rows.map((row) => (JSON.parse(row) as { response: { body: object } }).response.body);
}
