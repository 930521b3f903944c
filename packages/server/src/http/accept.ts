// Which form of a reply the header Accept requests.

/** Whether the client accepts JSON and nothing else: axios lists JSON among other types and still expects the compatible form. */
export function acceptsOnlyJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.includes(',')) return false
  return accept === 'application/json' || accept.split(';', 1)[0]!.trim().toLowerCase() === 'application/json'
}
