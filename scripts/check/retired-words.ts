// No file of the folders listed as clean uses a retired word. retired-words.json holds the words, each with a better one and a scope:
// `always` means names, strings and comments; `prose` means comments, strings that users read, and the text of pages.
//
// A word matches in every spelling: an entry of two words also finds them in camel case, in snake case and with a hyphen.
// `allowed` lists what keeps an old word on purpose, such as a public alias: the exact text, the files, and the reason.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { proseOf } from './prose.ts'
import { houseDir } from './source-files.ts'

const wordsFile = 'scripts/check/retired-words.json'
const textFile = /\.(ts|tsx|mts|js|mjs|cjs|py|sh|md|html|css|json|toml|yml|yaml|service|c|cpp)$|Dockerfile$/

interface RetiredWord {
  readonly word: string
  readonly better: string
  readonly scope: 'always' | 'prose'
}

export interface RetiredWords {
  readonly clean: readonly string[]
  readonly exempt: readonly string[]
  readonly words: readonly RetiredWord[]
  readonly allowed: readonly { readonly text: string; readonly in: string; readonly why: string }[]
}

export function retiredWordFaults(): string[] {
  const retired = JSON.parse(readFileSync(path.join(houseDir, wordsFile), 'utf8')) as RetiredWords
  return trackedFiles(retired).flatMap((file) =>
    faultsOfFile(file, readFileSync(path.join(houseDir, file), 'utf8'), retired),
  )
}

/** One line for each retired word in `text`, the content of `file`. */
export function faultsOfFile(file: string, text: string, retired: RetiredWords): string[] {
  const allowed = retired.allowed.filter((entry) => file.startsWith(entry.in)).map((entry) => entry.text)
  const everything = linesOf(text, allowed)
  // Most files have no retired word at all, and are then not taken apart.
  if (retired.words.every(({ word }) => !everything.some((line) => line.includes(` ${word} `)))) return []
  const prose = linesOf(proseOf(file, text), allowed)
  return retired.words.flatMap(({ word, better, scope }) =>
    (scope === 'always' ? everything : prose).flatMap((line, index) =>
      line.includes(` ${word} `) ? [`${file}:${index + 1}: "${word}" is retired; better: ${better}`] : [],
    ),
  )
}

/** The lower-case words of each line with one space around each; an identifier is split at its humps and underscores. */
function linesOf(text: string, allowed: readonly string[]): string[] {
  const kept = allowed.reduce((rest, token) => rest.replaceAll(token, ' '), text)
  return kept.split('\n').map((line) => {
    const words = line.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[^A-Za-z]+/g, ' ')
    return ` ${words.trim().toLowerCase()} `
  })
}

function trackedFiles({ clean, exempt }: RetiredWords): string[] {
  return listOfGit()
    .split('\n')
    .filter((file) => textFile.test(file) && clean.some((folder) => file.startsWith(folder)))
    .filter((file) => !exempt.some((part) => `/${file}`.includes(part)))
    .filter((file) => existsSync(path.join(houseDir, file)))
}

/** Outside a git checkout there is no list, and nothing is checked. */
function listOfGit(): string {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']
  try {
    return execFileSync('git', args, { cwd: houseDir, encoding: 'utf8', maxBuffer: 1 << 26 })
  } catch {
    return ''
  }
}
