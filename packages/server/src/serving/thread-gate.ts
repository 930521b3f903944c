// The gate of a serving thread: accepts the requests that the main thread would accept, as far as that is known here, and leaves every
// other one to the main thread.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { DatabaseType } from '@annal/engine'
import type { Access } from '../access/access.ts'
import { callerKey, type TokenMode } from '../access/auth.ts'
import type { BodyBudgets } from '../access/body-room.ts'
import type { Budget } from '../access/budget.ts'
import { type DecidedHead, type DecisionParts, decide } from '../access/decide.ts'
import { hostCheckFor } from '../access/hosts.ts'
import type { RateBuckets } from '../access/rate-buckets.ts'
import { refusal, ServerError } from '../errors.ts'
import type { Admission, Gate, HotRoute, HotRouteName } from '../hot/contract.ts'
import { lagHeader, stalenessHeader } from '../http/forwarded-headers.ts'
import { covers, type GrantsView, type HeldGrant } from './grants.ts'
import type { SharedFreshness } from './shared-freshness.ts'

/** The settings by which a thread decides. They contain no secret. */
export interface GateRules {
  readonly mode: TokenMode
  readonly host: string
  readonly allowedHosts: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly trustedProxies: readonly string[]
}

/** What a gate shares with the other threads. */
export interface GateParts {
  readonly rules: GateRules
  readonly grants: GrantsView
  /** Undefined on a single server. */
  readonly freshness: { readonly state: SharedFreshness; readonly stalenessMsMax: number } | undefined
  /** Undefined without a rate limit. */
  readonly buckets: RateBuckets | undefined
  readonly reads: Budget
  readonly writes: Budget
  readonly bodies: BodyBudgets
  /** The clock of grants. */
  readonly now: () => number
}

/** The access of each hot route, as in its documentation. */
export const hotAccess: { readonly [N in HotRouteName]: Access } = {
  'v1-search': 'search',
  'v2-search': 'search',
  'v2-batch': 'search',
  'v1-get': 'read',
  'v2-get': 'read',
  health: 'open',
}

/** A caller on a serving thread. */
interface GrantedCaller {
  readonly kind: 'member'
  readonly grant: HeldGrant
}

/** Thrown where only the main thread can decide. Without a stack: it is not a fault, and it is frequent. */
const undecided: Error = Object.assign(Object.create(Error.prototype) as Error, {
  message: 'only the main thread can decide',
})
const noHeaders: Admission['replyHeaders'] = []

export async function createThreadGate(parts: GateParts): Promise<Gate> {
  const { rules, grants, buckets, freshness } = parts
  const origins = new Set(rules.corsOrigins)
  const replyHeaders = origins.size === 0 ? noHeaders : ([['vary', 'origin']] as const)
  const checkHost = hostCheckFor(rules.mode, rules)
  /** The bucket that the request of this turn took from. */
  let place: number | undefined
  const deciding: DecisionParts<GrantedCaller> = {
    origins,
    isStopping: () => grants.isStopping,
    identify: await createIdentify(parts),
    // A grant covers a search only while a license is active.
    requireLicense: () => undefined,
    takeRate({ grant }) {
      if (buckets === undefined) return
      if (grant.place === undefined || !buckets.take(grant.place)) throw undecided
      place = grant.place
    },
    ...{ reads: parts.reads, writes: parts.writes, bodies: parts.bodies },
  }
  return {
    admit({ method, headers, address }, route) {
      const access = hotAccess[route.name]
      const { bodyBytesMax } = route
      const { authorization: token } = headers
      // The replies to other pages have headers of their own.
      if (headers.origin !== undefined && origins.size > 0) return undefined
      // Health compares and counts tokens.
      if (access === 'open' && token !== undefined) return undefined
      if (headers['transfer-encoding'] !== undefined) return undefined
      if (Number(headers['content-length'] ?? 0) > bodyBytesMax) return undefined
      let headerLines = ''
      if (freshness !== undefined && access !== 'open') {
        const { lag, stalenessMs, isServing } = freshness.state.read()
        // The main thread refuses, or answers.
        if (!isServing || (rules.mode === 'root' && stalenessMs > freshness.stalenessMsMax)) return undefined
        const staleness = Number.isFinite(stalenessMs) ? `${stalenessHeader}: ${Math.ceil(stalenessMs)}\r\n` : ''
        headerLines = `${lagHeader}: ${lag}\r\n${staleness}`
      }
      const held: (() => void)[] = []
      place = undefined
      let caller: GrantedCaller | undefined
      const error = refusal(() => {
        checkHost?.(headers)
        const head = { method, headers, access, address, token, bodyBytesMax }
        caller = decide(head, deciding, (release) => void held.push(release)).caller
      })
      const { grant } = caller ?? {}
      const admission = new ThreadAdmission({ route, replyHeaders, headerLines, grants, grant, held, buckets, place })
      if (error === undefined) return admission
      admission.withdraw()
      // Anything else is a fault of this thread.
      if (error !== undecided && !(error instanceof ServerError)) throw error
      return undefined
    },
  }
}

/** Identifies the callers with a grant. */
async function createIdentify({
  rules,
  grants,
  buckets,
  now,
}: GateParts): Promise<DecisionParts<GrantedCaller>['identify']> {
  const addressOf = await addressReader(rules.trustedProxies)
  const options = { mode: rules.mode, isRateLimited: buckets !== undefined }
  // The requests of a connection mostly have the same headers, which are parsed only once.
  const keys = new WeakMap<IncomingHttpHeaders, string>()
  return (head) => {
    let key = keys.get(head.headers)
    if (key === undefined) {
      key = callerKey(options, head.token, () => addressOf(head))
      if (key === undefined) throw undecided
      keys.set(head.headers, key)
    }
    const grant = grants.get(key)
    const when = { isSearch: head.access === 'search', nowMs: now() }
    if (grant === undefined || !covers(grant, when)) throw undecided
    return { kind: 'member', grant }
  }
}

type Addressed = Pick<DecidedHead, 'address' | 'headers'>

/** The address of the client, as the framework of the main thread determines it. */
async function addressReader(trustedProxies: readonly string[]): Promise<(head: Addressed) => string> {
  if (trustedProxies.length === 0) return ({ address }) => address
  const { default: proxyAddress } = await import('@fastify/proxy-addr')
  const trust = proxyAddress.compile([...trustedProxies])
  return ({ address, headers }) =>
    proxyAddress({ socket: { remoteAddress: address }, headers } as IncomingMessage, trust)
}

interface ThreadAdmissionParts extends Pick<Admission, 'route' | 'replyHeaders' | 'headerLines'> {
  readonly grants: GrantsView
  /** Undefined on open routes. */
  readonly grant: HeldGrant | undefined
  readonly held: readonly (() => void)[]
  readonly buckets: RateBuckets | undefined
  readonly place: number | undefined
}

class ThreadAdmission implements Admission {
  readonly #parts: ThreadAdmissionParts
  #isReleased = false

  constructor(parts: ThreadAdmissionParts) {
    this.#parts = parts
  }

  get route(): HotRoute {
    return this.#parts.route
  }

  get database(): string {
    return this.#parts.grant?.database ?? ''
  }

  get databaseType(): DatabaseType {
    return this.#parts.grant?.databaseType ?? 'enterprise'
  }

  get replyHeaders(): Admission['replyHeaders'] {
    return this.#parts.replyHeaders
  }

  get headerLines(): string {
    return this.#parts.headerLines
  }

  isValid(): boolean {
    return this.#parts.grants.isValid(this.#parts.grant)
  }

  reply(send: () => void): boolean {
    return this.#parts.grants.reply(this.#parts.grant, send)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    for (const release of this.#parts.held) release()
  }

  withdraw(): void {
    if (this.#isReleased) return
    this.release()
    const { buckets, place, grant } = this.#parts
    // The bucket of a withdrawn grant may be that of another caller now.
    if (place !== undefined && grant?.isWithdrawn !== true) buckets?.giveBack(place)
  }
}
