// The reply of health in both versions. The main thread and the serving threads write it with this function.

/** What is written of the state of the server. */
export interface HealthFacts {
  readonly status: string
  /**
   * The members of the reply after the timestamp, each behind a comma: those of both versions, a line feed, and those of
   * /api/v2 alone. Empty for callers who may not see them.
   */
  readonly details: string
}

/** Joins the members of both versions and those of /api/v2 alone. */
export function joinDetails(common: object, ofV2: object): string {
  return [common, ofV2].map(membersOf).join('\n')
}

function membersOf(value: object): string {
  const text = JSON.stringify(value).slice(1, -1)
  return text === '' ? '' : `,${text}`
}

/** In /api/v1, the timestamp is in nanoseconds since 1970, in /api/v2 a text. JSON has no line feeds in its texts. */
export function healthJson({ status, details }: HealthFacts, version: 'v1' | 'v2', now: Date): string {
  // Nanoseconds since 1970 do not fit a double, so the number is written as text into the JSON.
  const timestamp = version === 'v1' ? `${BigInt(now.getTime()) * 1_000_000n}` : JSON.stringify(now.toISOString())
  const [common = '', ofV2 = ''] = details.split('\n')
  return `{"status":${JSON.stringify(status)},"timestamp":${timestamp}${common}${version === 'v1' ? '' : ofV2}}`
}
