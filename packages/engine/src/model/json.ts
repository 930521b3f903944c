// JSON values as the engine stores them: in meta and in filters.

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** Any JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}
