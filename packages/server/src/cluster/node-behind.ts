// A node that runs and is behind what the log has.

/** The log was trimmed behind what this node has read: a restart begins with the newest snapshot. */
export class NodeBehindError extends Error {
  override readonly name = 'NodeBehindError'
  readonly code = 'node_behind'

  constructor(node: string, cause: Error) {
    super(
      `node ${node} was away for too long: ${cause.message}. It begins with the newest snapshot when it is started again`,
      { cause },
    )
  }
}
