// Decides on the main thread which of the callers that it accepted are granted to the serving threads, and for how long.
import type { ControlChange } from '@annal/engine'
import type { Attempts } from '../access/attempts.ts'
import { callerKey, callerOf, isChosen, isChosenFrom, type Principal, type TokenMode } from '../access/auth.ts'
import type { DecidedHead } from '../access/decide.ts'
import type { RateLimit } from '../access/rate-limit.ts'
import type { EngineSlot } from '../engine-slot.ts'
import type { Licensing } from '../license/licensing.ts'
import { licenseCheckEveryMs } from '../limits.ts'
import { covers, type GrantsOwner } from './grants.ts'

/** Offers callers to the serving threads. */
export interface Granting {
  /** Call it in the turn in which the request was accepted. */
  offer(principal: Principal, head: DecidedHead): void
  /** Resolves when no thread accepts a caller any more because of a license that was replaced. */
  licenseChanged(): Promise<void>
  /** The server is stopping. */
  stop(): void
}

export interface GrantingOptions {
  readonly owner: GrantsOwner
  readonly mode: TokenMode
  readonly attempts: Attempts
  readonly rates: RateLimit
  readonly slot: EngineSlot
  readonly licensing: Licensing | undefined
  /** The clock of grants. */
  readonly now: () => number
}

export function createGranting({ owner, mode, attempts, rates, slot, licensing, now }: GrantingOptions): Granting {
  const isRateLimited = rates.buckets !== undefined
  attempts.onForgotten((forgotten) => void owner.withdraw(({ key }) => isChosenFrom(key, forgotten)))
  rates.onReassigned((place) => owner.withdrawPlace(place))
  return {
    offer(principal, { access, headers, address }) {
      if (!owner.isUsed || !slot.isOpen() || (access !== 'read' && access !== 'search')) return
      const header = headers.authorization
      const key = callerKey({ mode, isRateLimited }, header, () => address)
      if (key === undefined) return
      const nowMs = now()
      const known = owner.get(key)
      if (known !== undefined && covers(known, { isSearch: access === 'search', nowMs })) return
      const { name, type } = (principal.kind === 'member' ? principal.database : slot.database()).describe()
      // After this time, attempts.ts has to learn that the address used the right token.
      const readUntilMs = isChosen(key) ? nowMs + Math.floor(attempts.quietMs(address)) : Number.POSITIVE_INFINITY
      // A license also ends when the clock of the machine is set, so it is checked again after some time.
      const licensedMs = licensing === undefined ? undefined : Math.min(licensing.remainingMs(), licenseCheckEveryMs)
      owner.put({
        key,
        database: name,
        databaseType: type,
        readUntilMs,
        searchUntilMs: licensedMs === undefined ? readUntilMs : Math.min(readUntilMs, nowMs + Math.floor(licensedMs)),
        place: isRateLimited ? rates.placeOf(callerOf(mode, header, address)) : undefined,
      })
    },
    licenseChanged: () => owner.withdraw(() => true),
    stop: () => owner.stop(),
  }
}

/** Changes that can make a grant wrong. New tokens and databases have no grants, and settings decide nothing about callers. */
const revoking: ReadonlySet<ControlChange['kind']> = new Set(['token-dropped', 'database-changed', 'database-dropped'])

/** Resolves when no thread decides by the state before the change any more. */
export async function withdrawChanged(owner: GrantsOwner, { kind, database }: ControlChange): Promise<void> {
  if (revoking.has(kind)) await owner.withdraw((grant) => grant.database === database)
}
