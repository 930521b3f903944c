// The error of a stream that NATS does not have, unlike that of a NATS server that does not answer.
import { StoreUnavailable } from '@annal/wal/replicated'

/** NATS answers, and has no stream of this name: its storage was lost, or somebody deleted the stream. */
export class MissingStreamError extends StoreUnavailable {
  constructor(stream: string, options: ErrorOptions) {
    super(`NATS has no stream ${stream}`, options)
  }
}
