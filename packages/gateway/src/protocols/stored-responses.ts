/** The paths of stored responses. The replica that made a response serves them. */

export interface StoredResponsePath {
  readonly id: string;
  readonly action: string;
  readonly methods: readonly string[];
}

/** The id must not be `..`: a lenient server would then reach another path. */
const pattern = /^\/v1\/responses\/(\w[\w.-]{0,255})(\/cancel|\/input_items)?$/;
const ofAction: Readonly<Record<string, readonly string[]>> = {
  "": ["GET", "DELETE"],
  "/cancel": ["POST"],
  "/input_items": ["GET"],
};

export function storedResponseAt(path: string): StoredResponsePath | undefined {
  const [, id, action = ""] = pattern.exec(path) ?? [];
  return id === undefined ? undefined : { id, action, methods: ofAction[action]! };
}
