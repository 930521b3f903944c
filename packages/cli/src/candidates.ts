// What can follow the words of a command line: commands, options, and values, from the description of the commands itself. Names of
// collections and fields come from outside, because only a server has them.
import type { Argument, Command, Option } from 'commander'

export interface Candidate {
  readonly text: string
  readonly meaning: string
}

export interface Candidates {
  readonly candidates: readonly Candidate[]
  /** Names of files fit, too. */
  readonly files: boolean
}

export interface StoredNames {
  collections(): Promise<readonly string[]>
  fields(collection: string): Promise<readonly string[]>
}

/** Arguments and values of options that are collections. New collections have no name yet. */
const collectionNames = ['collection', 'alias']
const fileNames = ['file', 'dir', 'directory', 'source', 'trace', 'data', 'json']

/** The last word is the one to complete; the words before it are whole. */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  stored: StoredNames,
): Promise<Candidates> {
  const current = words.at(-1) ?? ''
  const place = placeOf(program, words.slice(0, -1))
  const found = await fitting(place, current, stored)
  return { ...found, candidates: found.candidates.filter(({ text }) => text.startsWith(current)) }
}

interface Place {
  readonly command: Command
  /** Arguments so far. */
  readonly given: readonly string[]
  /** The option whose value comes next. */
  readonly option: Option | undefined
}

function placeOf(program: Command, words: readonly string[]): Place {
  let command = program
  let given: string[] = []
  let option: Option | undefined
  for (const word of words) {
    if (option !== undefined) {
      // A shell may make a word of the equals sign.
      if (word !== '=') option = undefined
      continue
    }
    if (word.startsWith('-') && word !== '-') {
      const known = command.options.find(({ long, short }) => long === word || short === word)
      if (known?.required || known?.optional) option = known
      continue
    }
    const next = given.length === 0 ? command.commands.find((one) => one.name() === word) : undefined
    if (next === undefined) given.push(word)
    else [command, given] = [next, []]
  }
  return { command, given, option }
}

async function fitting({ command, given, option }: Place, current: string, stored: StoredNames): Promise<Candidates> {
  if (option !== undefined) {
    if (option.argChoices) return { candidates: plain(option.argChoices), files: false }
    if (option.long === '--field' && given[0] !== undefined) {
      return { candidates: plain(await stored.fields(given[0])), files: false }
    }
    return await named(/<([^>]*)>/.exec(option.flags)?.[1] ?? '', stored)
  }
  if (current.startsWith('-')) return { candidates: optionsOf(command), files: false }
  if (given.length === 0 && command.commands.length > 0) {
    const visible = command.createHelp().visibleCommands(command)
    return { candidates: visible.map((one) => ({ text: one.name(), meaning: one.description() })), files: false }
  }
  const argument = argumentAt(command, given.length)
  if (argument?.argChoices) return { candidates: plain(argument.argChoices), files: false }
  return await named(argument?.name() ?? '', stored)
}

async function named(name: string, stored: StoredNames): Promise<Candidates> {
  if (collectionNames.includes(name)) return { candidates: plain(await stored.collections()), files: false }
  return { candidates: [], files: fileNames.includes(name) }
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  const last = registeredArguments.at(-1)
  return registeredArguments[index] ?? (last?.variadic ? last : undefined)
}

function optionsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, short].map((text) => ({ text: text ?? '', meaning: description })),
    )
    .filter(({ text }) => text !== '')
}

function plain(texts: readonly string[]): readonly Candidate[] {
  return texts.map((text) => ({ text, meaning: '' }))
}
