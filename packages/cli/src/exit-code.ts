// What the command ends with. The numbers of sysexits.h where one fits, the same as the server's.

export const exitCode = {
  good: 0,
  /** Something is not as it should be, though nothing is broken: `annal doctor` found work. */
  attention: 1,
  /** The command was written wrongly. */
  usage: 64,
  /** Data is damaged. */
  damaged: 65,
  /** A server does not answer, or a port is taken. */
  unavailable: 69,
  /** Our mistake. */
  internal: 70,
  /** Another process has the directory open. */
  locked: 73,
  /** The disk refused. */
  io: 74,
  /** The server refused: the token, the name, the state. */
  refused: 76,
  /** This user may not. */
  permission: 77,
  /** Written by another version, or settings that cannot be. */
  configuration: 78,
} as const

/** A command that ends without success for a reason that it has told. */
export class CommandEnd extends Error {
  override readonly name = 'CommandEnd'
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

export function usageError(message: string): CommandEnd {
  return new CommandEnd(exitCode.usage, message)
}
