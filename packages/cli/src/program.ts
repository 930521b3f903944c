// The command line: the commands, their options and the exit code.
import { Command, CommanderError } from 'commander'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'
import { fileFailure } from './file-failure.ts'
import { nearestName } from './nearest-name.ts'
import { describeBench } from './program-bench.ts'
import { describeCluster } from './program-cluster.ts'
import { describeData } from './program-data.ts'
import { describeJudging } from './program-judging.ts'
import { describeLicenses } from './program-licenses.ts'
import { describeMoving } from './program-moving.ts'
import { describeObjects } from './program-objects.ts'
import { describeServing } from './program-serving.ts'
import { describeTerminal, help } from './program-terminal.ts'
import { describeTime } from './program-time.ts'
import { describeTools } from './program-tools.ts'
import { refuseSecrets } from './secrets.ts'
import { sessionNow } from './session.ts'
import type { Terminal } from './terminal.ts'
import { version } from './version.ts'

const epilogue = `
Settings come from NDD_ environment variables; options override them.
Exit codes: 0 success, 1 problems found, 64 usage, 65 damaged data, 69 unavailable, 70 internal error (please report it),
73 locked, 74 disk failure, 75 start again, 76 rejected by the server, 77 permission, 78 newer format or wrong use of a
directory, 130 interrupted. Reference: docs/reference/cli.md`

/** Resolves to the exit code, or to undefined while a started server keeps running. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number | undefined> {
  let ended: number | undefined = exitCode.good
  const program = describe(terminal, (code) => {
    ended = code
  })
  try {
    refuseSecrets(args)
    const [first] = args
    if (first !== undefined && /^[a-z]/i.test(first) && !isCommand(program, first)) {
      const meant = nearestName(
        first,
        program.commands.map((command) => command.name()),
      )
      const advice = meant === undefined ? '' : `; did you mean ${meant}?`
      throw usageError(`unknown command ${first}${advice} (annal --help lists the commands)`)
    }
    await program.parseAsync([...args], { from: 'user' })
    return ended
  } catch (error) {
    return await failed(error, terminal)
  } finally {
    terminal.bar.clear()
  }
}

/** Checked before parsing, because an unknown command would be an extra argument of the default command. */
function isCommand(program: Command, name: string): boolean {
  return name === 'help' || program.commands.some((command) => command.name() === name)
}

async function failed(error: unknown, terminal: Terminal): Promise<number> {
  // Commander has already printed the error or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.good : exitCode.usage
  if (error instanceof CommandEnd) {
    if (error.message !== '') terminal.say(`annal: ${error.message}`)
    return error.exitCode
  }
  const file = fileFailure(error)
  if (file !== undefined) {
    terminal.say(`annal: ${file.line}`)
    return file.code
  }
  const { exitOf } = await import('@annal/server')
  const { code, lines } = exitOf(error)
  for (const line of lines) terminal.say(`annal: ${line}`)
  return code
}

function describe(terminal: Terminal, ends: (code: number | undefined) => void): Command {
  const program = new Command('annal')
    .description('A vector database: a server, and tools for its data.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or the help of a command')
    .addHelpText('after', epilogue)
    .showHelpAfterError('(annal --help lists the commands)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.line(text.trimEnd()),
      writeErr: (text) => terminal.say(text.trimEnd()),
      // Errors of all commands begin alike.
      outputError: (text, write) => write(text.replace(/^error: /, 'annal: ')),
    })
  // In a shell, there are only the commands on data.
  if (sessionNow() !== undefined) {
    describeObjects(program, terminal, ends)
    describeMoving(program, terminal, ends)
    describeTime(program, terminal, ends)
    return program
  }
  describeServing(program, terminal, ends)
  describeObjects(program, terminal, ends)
  const ended = () => undefined
  describeTerminal(program, terminal, ends, {
    run: (words) => run(words, terminal),
    program: () => describe(terminal, ended),
  })
  describeData(program, terminal, ends)
  describeTime(program, terminal, ends)
  describeTools(program, terminal, ends)
  describeJudging(program, terminal, ends)
  describeBench(program, terminal, ends)
  describeCluster(program, terminal, ends)
  describeLicenses(program, terminal, ends)
  // Commands inherit the `help` of the program with its group, which they do not have.
  for (const command of program.commands.filter(({ commands }) => commands.length > 0)) command.addHelpCommand(help())
  return program
}
