// The lines of a text file. One line is in memory, and has a limit: a file that is not text may have no end of a line.
import { createReadStream } from 'node:fs'
import { dataError } from '../exit-code.ts'

/** Lines end with a line feed, or with a carriage return before it. Throws if one has more characters than `charactersMax`. */
export async function* linesOf(file: string, charactersMax: number): AsyncGenerator<string> {
  let rest = ''
  let number = 1
  const check = (line: string) => {
    if (line.length > charactersMax)
      throw dataError(`${file}, line ${number}: a line has more than ${charactersMax} characters`)
    number += 1
    return line.endsWith('\r') ? line.slice(0, -1) : line
  }
  for await (const piece of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    let from = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      yield check(rest + piece.slice(from, end))
      rest = ''
      from = end + 1
    }
    rest += piece.slice(from)
    if (rest.length > charactersMax) check(rest)
  }
  if (rest !== '') yield check(rest)
}
