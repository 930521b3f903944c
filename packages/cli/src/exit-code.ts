// Exit codes of the command: the numbers of sysexits.h where one fits, the same as the server's.

export const exitCode = {
  good: 0,
  /** Not an error, but `annal doctor` found something to fix, or an id does not exist. */
  attention: 1,
  /** Wrong usage of the command. */
  usage: 64,
  /** Damaged or wrong data. */
  damaged: 65,
  /** The server does not respond, or a port is in use. */
  unavailable: 69,
  /** An internal error. */
  internal: 70,
  /** Another process has the directory open. */
  locked: 73,
  /** The disk is full or failed. */
  io: 74,
  /** The server refused the token, the name or the state. */
  refused: 76,
  /** Missing permission. */
  permission: 77,
  /** Written by a newer version, or a directory or a NATS server that must not be used in this way. */
  configuration: 78,
  /** Interrupted with Ctrl-C: 128 plus the number of the signal, as in shells. */
  interrupted: 130,
  /** The reader of the output ended. */
  noReader: 141,
} as const

/** The end of a command that failed for a reported reason. */
export class CommandEnd extends Error {
  override readonly name = 'CommandEnd'
  readonly exitCode: number
  /** The error code in the reply of a server; undefined if no server rejected a request. */
  readonly code: string | undefined

  constructor(exitCode: number, message: string, code?: string) {
    super(message)
    this.exitCode = exitCode
    this.code = code
  }
}

export function usageError(message: string): CommandEnd {
  return new CommandEnd(exitCode.usage, message)
}

/** A file whose content does not have the format that it should have. */
export function dataError(message: string): CommandEnd {
  return new CommandEnd(exitCode.damaged, message)
}
