// Why a node must not lead, although the lease is free.
import type { Engine } from '@annal/engine'

/** The facts that decide. */
export interface ObstacleFacts {
  /** Difference to the clock of a NATS server, in milliseconds; undefined if it is not known. */
  readonly skewMs: number | undefined
  readonly isNameTaken?: boolean
  /** Milliseconds since the node had everything that was in the log. */
  readonly behindMs?: number
  readonly behindMsMax?: number
}

/** The clock of the leader stamps events, so it may differ by this much at most. */
const skewMsMax = 10_000
/** The log is looked at twice a second or less often, so a node that has everything may have known it this long ago. */
const freshMsMin = 3000

/** The obstacle of two processes with one name; each of them reports it. */
export const nameTaken = 'another process has the name of this node (NDD_NODE_NAME)'

/** Returns the reason, or undefined if the node may lead. */
export function obstacleOf(engine: Engine | undefined, facts: ObstacleFacts): string | undefined {
  const { skewMs, isNameTaken, behindMs = 0, behindMsMax = 0 } = facts
  if (skewMs === undefined) return 'the clock of this machine has not been compared with that of NATS yet'
  if (Math.abs(skewMs) > skewMsMax) {
    const direction = skewMs > 0 ? 'ahead of' : 'behind'
    return `the clock of this machine is ${Math.round(Math.abs(skewMs) / 1000)} s ${direction} that of NATS; a leader may differ by ${skewMsMax / 1000} s`
  }
  if (isNameTaken) return nameTaken
  if (behindMs > Math.max(freshMsMin, behindMsMax)) return 'this node has not caught up with the log'
  const quarantined = engine === undefined ? undefined : quarantinedIn(engine)
  if (quarantined !== undefined) return `collection "${quarantined}" is out of service on this node`
  return undefined
}

function quarantinedIn(engine: Engine): string | undefined {
  for (const { name } of engine.control.databases()) {
    const found = engine
      .database(name)
      .collections()
      .find(({ condition }) => condition === 'quarantined')
    if (found !== undefined) return found.name
  }
  return undefined
}
