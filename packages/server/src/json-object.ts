import type { JsonObject } from '@annal/engine'

/** Whether a value is an object as JSON.parse returns it. Arrays are none, and neither is binary data of MessagePack. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}
