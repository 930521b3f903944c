// Every error code in the code has an entry in docs/reference/errors.md, and every entry has a code.
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { houseDir, sourceFiles } from './source-files.ts'

const page = 'docs/reference/errors.md'
/** Unions named ...ErrorCode hold the codes of a package; that is the one form this check reads. */
const union = /type \w*ErrorCode =((?:\s*\|?\s*'[a-z_]+')+)/g

export async function errorCodeFaults(): Promise<string[]> {
  const documented = new Set<string>()
  const text = await readFile(path.join(houseDir, page), 'utf8').catch(() => '')
  for (const match of text.matchAll(/^\|\s*`([a-z_]+)`/gm)) documented.add(match[1] as string)
  const unexplained = [...text.matchAll(/^\|\s*`([a-z_]+)`.*$/gm)].filter(([row]) =>
    row
      .split('|')
      .slice(1, -1)
      .some((cell) => cell.trim() === ''),
  )
  const used = new Map<string, string>()
  for (const name of ['wal', 'engine', 'server', 'client']) {
    for (const file of await sourceFiles(`packages/${name}/src`)) {
      for (const match of file.text.matchAll(union)) {
        for (const code of (match[1] as string).matchAll(/'([a-z_]+)'/g)) used.set(code[1] as string, file.path)
      }
    }
  }
  return [
    ...[...used]
      .filter(([code]) => !documented.has(code))
      .map(([code, file]) => `${file}: error code ${code} is not in ${page}`),
    ...unexplained.map(([, code]) => `${page}: ${code} lacks its status, cause or cure`),
    ...[...documented].filter((code) => !used.has(code)).map((code) => `${page}: ${code} is in no ...ErrorCode union`),
  ]
}
