// `annal shell`: the commands on data at a prompt, with one connection, history, and completion. Ctrl-C ends only the running command.
import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { AnnalError, Client, type Transport } from '@annal/client'
import type { Command } from 'commander'
import { candidatesFor } from '../candidates.ts'
import { type ConnectionOptions, openTransport, refusal } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { inSession } from '../session.ts'
import { wordsOf } from '../shell-words.ts'
import type { Terminal } from '../terminal.ts'
import { collectionsOf, fieldsOf } from './completion.ts'

/** What the command line gives the shell: how to run words, and the commands that it may run. */
export interface ShellCommands {
  run(words: readonly string[]): Promise<number | undefined>
  program(): Command
}

const historyMax = 1_000
const prompt = 'annal> '
const morePrompt = '  ...> '

/** Ends with the code of the first command that failed if the commands come from a file or a pipe; there it ends at once. */
export async function shell(options: ConnectionOptions, commands: ShellCommands, terminal: Terminal): Promise<number> {
  let transport: Transport | undefined
  try {
    transport = await openTransport(options)
    // A wrong address or token ends the shell before the first prompt.
    await new Client(transport).listCollections()
    return await (process.stdin.isTTY ? prompting : reading)(new Runner(transport, commands), options, terminal)
  } catch (error) {
    if (error instanceof AnnalError) throw refusal(error)
    throw error
  } finally {
    await transport?.close()
  }
}

/** Runs one command after another. */
class Runner {
  readonly #transport: Transport
  readonly #commands: ShellCommands
  #running: AbortController | undefined

  constructor(transport: Transport, commands: ShellCommands) {
    this.#transport = transport
    this.#commands = commands
  }

  async run(words: readonly string[], question?: (text: string) => Promise<string>): Promise<number> {
    const running = new AbortController()
    this.#running = running
    const session = { transport: this.#transport, signal: running.signal, question }
    try {
      return (await inSession(session, () => this.#commands.run(words))) ?? exitCode.good
    } finally {
      this.#running = undefined
    }
  }

  /** False if nothing runs. */
  interrupt(): boolean {
    this.#running?.abort()
    return this.#running !== undefined
  }

  /** What may follow the words, and the part of the line that it replaces. */
  async complete(line: string): Promise<[string[], string]> {
    const words = line.trimStart().split(/\s+/)
    const client = new Client(this.#transport)
    const stored = {
      collections: () => collectionsOf(client).catch(() => []),
      fields: (collection: string) => fieldsOf(client, collection).catch(() => []),
    }
    const session = { transport: this.#transport, signal: new AbortController().signal, question: undefined }
    const program = await inSession(session, () => Promise.resolve(this.#commands.program()))
    const { candidates } = await candidatesFor(program, words, stored)
    return [candidates.map(({ text }) => `${text} `), words.at(-1) ?? '']
  }
}

const isEnd = (words: readonly string[]) => words[0] === 'exit' || words[0] === 'quit'

async function reading(runner: Runner, _options: ConnectionOptions, terminal: Terminal): Promise<number> {
  let text = ''
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    text += `${line}\n`
    const words = wordsOf(text)
    if (words === undefined) continue
    text = ''
    if (words.length === 0 || words[0]?.startsWith('#')) continue
    if (isEnd(words)) return exitCode.good
    const code = await runner.run(words)
    if (code !== exitCode.good) return code
  }
  if (text === '') return exitCode.good
  terminal.say('annal: the last command ends inside a quote or a bracket')
  return exitCode.usage
}

function prompting(runner: Runner, { server, dataDir }: ConnectionOptions, terminal: Terminal): Promise<number> {
  terminal.say(`connected to ${dataDir ?? server}; help lists the commands, exit or Ctrl-D leaves`)
  const history = new History()
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt,
    history: history.newestFirst,
    historySize: historyMax,
    removeHistoryDuplicates: true,
    completer: (line: string, done: (error: Error | null, found?: [string[], string]) => void) => {
      runner.complete(line).then(
        (found) => done(null, found),
        () => done(null, [[], line]),
      )
    },
  })
  return new Promise((resolve, reject) => {
    const prompted = new Prompt(lines, runner, history)
    lines.on('line', (line) => prompted.take(line).catch(reject))
    lines.on('SIGINT', () => prompted.interrupt())
    lines.on('close', () => prompted.finished().then(() => resolve(exitCode.good), reject))
    lines.prompt()
  })
}

/** What was typed so far, and the command that runs. */
class Prompt {
  readonly #lines: Interface
  readonly #runner: Runner
  readonly #history: History
  #text = ''
  #before: Promise<void> = Promise.resolve()

  constructor(lines: Interface, runner: Runner, history: History) {
    this.#lines = lines
    this.#runner = runner
    this.#history = history
  }

  /** Lines that are typed while a command runs wait for its end. */
  take(line: string): Promise<void> {
    this.#before = this.#before.then(() => this.#run(line))
    return this.#before
  }

  finished(): Promise<void> {
    this.#runner.interrupt()
    return this.#before
  }

  interrupt(): void {
    if (this.#runner.interrupt()) return
    this.#text = ''
    this.#lines.write(null, { ctrl: true, name: 'u' })
    process.stdout.write('\n')
    this.#lines.setPrompt(prompt)
    this.#lines.prompt()
  }

  async #run(line: string): Promise<void> {
    this.#text += this.#text === '' ? line : `\n${line}`
    const words = wordsOf(this.#text)
    this.#lines.setPrompt(words === undefined ? morePrompt : prompt)
    if (words !== undefined) {
      this.#history.add(this.#text)
      this.#text = ''
      if (isEnd(words)) {
        this.#lines.close()
        return
      }
      if (words.length > 0) await this.#runner.run(words, (text) => this.#ask(text))
    }
    this.#lines.prompt()
  }

  #ask(text: string): Promise<string> {
    return new Promise((resolve) => {
      this.#lines.question(text, resolve)
    })
  }
}

/** The commands of earlier shells, one in each line of a file that only its owner can read. */
class History {
  readonly #file = process.env.ANNAL_HISTORY ?? path.join(os.homedir(), '.annal_history')

  get newestFirst(): string[] {
    try {
      return readFileSync(this.#file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .slice(-historyMax)
        .reverse()
    } catch {
      // There is none yet, or it cannot be read: the shell works without it.
      return []
    }
  }

  add(text: string): void {
    if (text.trim() === '') return
    try {
      appendFileSync(this.#file, `${text.replaceAll('\n', ' ')}\n`, { mode: 0o600 })
      chmodSync(this.#file, 0o600)
    } catch {
      // As above.
    }
  }
}
