// Why a replicated log appends or reads nothing.
import { WalError } from '../errors.ts'

/** The error for an append to a log that follows. */
export function notLeader(): WalError {
  return new WalError('not_leader', 'this node does not lead and accepts no writes')
}

/** The error for a record that was removed. */
export function notHeld(lsn: number, lsnFirst: number): WalError {
  return new WalError('lsn_not_held', `the replicated log begins with LSN ${lsnFirst}; LSN ${lsn} was removed`, {
    lsn,
    limit: lsnFirst,
  })
}

/** The error for a store that is not the one that this node has read. */
export function rolledBack(evidence: string, seq: number): WalError {
  return new WalError('log_damaged', `the replicated log is older than this node: ${evidence}`, { seq, evidence })
}
