// JSON values one after another: JSON Lines, values over several lines, or the elements of one list. Text is cut into values while it
// arrives, so that one value is in memory, not the file.
import { createReadStream } from 'node:fs'
import type { ObjectInput } from '@annal/client'
import { dataError } from '../exit-code.ts'
import { recordOf, valueCharactersMax } from './jsonl.ts'

/** Of a value that is not an object or list. */
const scalarCharactersMax = 1_000

export interface JsonValueText {
  readonly text: string
  /** The line on which it begins, from 1. */
  readonly line: number
}

/** The objects of a file. */
export async function* readJson(file: string, firstRow: number): AsyncGenerator<ObjectInput> {
  yield* objectsOfText(createReadStream(file, 'utf8'), file, firstRow)
}

/** The objects of a text that arrives in pieces. `name` is the name in messages. */
export async function* objectsOfText(
  pieces: AsyncIterable<string>,
  name: string,
  firstRow = 0,
): AsyncGenerator<ObjectInput> {
  let row = 0
  for await (const { text, line } of jsonValues(pieces, name)) {
    if (row >= firstRow) yield recordOf(text, `${name}, line ${line}`)
    row += 1
  }
}

/** Throws a usage error that names the line where the text is not a sequence of values, or one list. */
async function* jsonValues(pieces: AsyncIterable<string>, name: string): AsyncGenerator<JsonValueText> {
  const cutter = new Cutter(name)
  for await (const piece of pieces) yield* cutter.add(piece)
  yield* cutter.end()
}

const space = /[\s\ufeff]/

/** Finds where values end. It counts brackets outside strings; the parser checks the rest. */
class Cutter {
  readonly #name: string
  #line = 1
  /** The value so far. */
  #text = ''
  #textLine = 1
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** Of one list around all values: before it, between values, after a comma, behind it. */
  #list: 'unknown' | 'none' | 'first' | 'next' | 'comma' | 'ended' = 'unknown'

  constructor(name: string) {
    this.#name = name
  }

  *add(piece: string): Generator<JsonValueText> {
    let from = 0
    for (let i = 0; i < piece.length; i += 1) {
      const character = piece[i] as string
      if (character === '\n') this.#line += 1
      if (this.#depth > 0) {
        if (!this.#closes(character)) continue
        this.#text += piece.slice(from, i + 1)
        yield this.#cut()
        from = i + 1
        continue
      }
      // A value that is not an object or list: up to the next space or comma.
      if (this.#text !== '' || !this.#isBetween(character)) {
        if (this.#text !== '' && (space.test(character) || character === ',' || character === ']')) {
          yield this.#cut()
          this.#isBetween(character)
        } else if (this.#text === '' && (character === '{' || character === '[')) {
          this.#begin()
          this.#depth = 1
          from = i
        } else {
          if (this.#text === '') this.#begin()
          this.#text += character
          // Not an object. The parser reports it.
          if (this.#text.length > scalarCharactersMax) yield this.#cut()
        }
      }
    }
    if (this.#depth > 0) this.#text += piece.slice(from)
    if (this.#text.length > valueCharactersMax) {
      throw dataError(`${this.#name}, line ${this.#textLine}: a value has more than ${valueCharactersMax} characters`)
    }
  }

  *end(): Generator<JsonValueText> {
    if (this.#depth > 0)
      throw dataError(`${this.#name}, line ${this.#textLine}: not a JSON object: the text ends too early`)
    if (this.#text !== '') yield this.#cut()
    if (this.#list === 'first' || this.#list === 'next' || this.#list === 'comma')
      throw dataError(`${this.#name}, line ${this.#line}: the list has no end`)
  }

  #begin(): void {
    if (this.#list === 'unknown') this.#list = 'none'
    if (this.#list === 'next') throw dataError(`${this.#name}, line ${this.#line}: a comma is missing`)
    if (this.#list === 'ended') throw dataError(`${this.#name}, line ${this.#line}: there is more after the list`)
    this.#textLine = this.#line
  }

  #cut(): JsonValueText {
    const value = { text: this.#text, line: this.#textLine }
    this.#text = ''
    if (this.#list !== 'none') this.#list = 'next'
    return value
  }

  /** Whether the character belongs to no value. */
  #isBetween(character: string): boolean {
    if (space.test(character)) return true
    const list = this.#list
    if (list === 'unknown' && character === '[') this.#list = 'first'
    else if (list === 'next' && character === ',') this.#list = 'comma'
    else if ((list === 'next' || list === 'first') && character === ']') this.#list = 'ended'
    else return false
    return true
  }

  /** Whether the character ends the value. */
  #closes(character: string): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#isInString) {
      if (character === '"') this.#isInString = false
      else if (character === '\\') this.#isEscaped = true
    } else if (character === '"') this.#isInString = true
    else if (character === '{' || character === '[') this.#depth += 1
    else if (character === '}' || character === ']') this.#depth -= 1
    return this.#depth === 0
  }
}
