// Moments of the past as JSON. Serving threads load it, so it loads no schemas.
import type { AsOfMoment } from '@annal/engine'

/** Where the progress of a load is shown. */
export const asOfStatusPath = '/api/v2/status/asof'

/** A moment as JSON. */
export function momentJson({ lsn, timeMs }: AsOfMoment): { readonly lsn: number; readonly time: string } {
  return { lsn, time: new Date(timeMs).toISOString() }
}

/** The member of a reply that states its moment, if it has one. */
export function asOfMember(asOf: AsOfMoment | undefined): { readonly as_of?: ReturnType<typeof momentJson> } {
  return asOf === undefined ? {} : { as_of: momentJson(asOf) }
}

/** The member of a reply that says when an object expires. */
export interface Expiry {
  readonly expires_at?: string
}

/** Empty for an object that does not expire. */
export function expiryMember(expiresAt: number | undefined): Expiry {
  return expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }
}
