/** Answers to `GET /v1/models`, by what a caller may use. A list of 10,000 models takes some milliseconds to build. */
import type { ModelRoute } from "../exchange/model-route.ts";

/** Keys may each have a list of their own. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

export class ModelLists {
  #models: readonly ModelRoute[] = [];
  readonly #byAllowed = new Map<ReadonlySet<string> | undefined, Buffer>();
  #bytes = 0;

  /** `models` is another list after each change of the configuration. */
  bodyFor(models: readonly ModelRoute[], allowed: ReadonlySet<string> | undefined): Buffer {
    if (models !== this.#models) {
      this.#models = models;
      this.#clear();
    }
    const known = this.#byAllowed.get(allowed);
    if (known !== undefined) return known;
    const data = models.filter(({ name }) => allowed === undefined || allowed.has(name)).map(modelObject);
    const body = Buffer.from(JSON.stringify({ object: "list", data }));
    if (this.#bytes + body.length > KEPT_BYTES_MAX) this.#clear();
    this.#byAllowed.set(allowed, body);
    this.#bytes += body.length;
    return body;
  }

  #clear(): void {
    this.#byAllowed.clear();
    this.#bytes = 0;
  }
}

export function modelObject(model: ModelRoute): object {
  return { id: model.name, object: "model", created: 0, owned_by: "headroom" };
}
