// The two steps that make spellings of one word equal. `plain` comes before stemming: compatibility forms, lower case, composed accents.
// `bare` comes after it, because stemmers need accents: letters without the marks that people leave out when they type.
import { termBytesMax } from '../limits.ts'
import { bareCharacter, codeAt, compose, plainCharacter, unitsOf } from './characters.ts'

const capitalI = 0x49
const dotlessI = 0x131
const dotAbove = 0x307

/**
 * A word in lower case. Marks in their canonical order are composed with the character before them. A word longer than a term may be is
 * cut. With `dotless`, I becomes the dotless i of Turkish.
 */
export function plainOf(word: string, dotless = false): string {
  let plain = ''
  let ascii = true
  for (let at = 0; at < word.length && plain.length < termBytesMax; ) {
    const code = codeAt(word, at)
    at += unitsOf(code)
    if (dotless && code === capitalI) {
      const dotted = at < word.length && word.charCodeAt(at) === dotAbove
      if (dotted) at++
      plain += dotted ? 'i' : String.fromCharCode(dotlessI)
      ascii = false
      continue
    }
    if (code > 0x7f) ascii = false
    plain += plainCharacter(code) ?? String.fromCodePoint(code)
  }
  return cutTerm(ascii ? plain : composedOf(plain))
}

/** A word without accents, and without strokes and joins of letters, except for the letters of `kept`. */
export function bareOf(word: string, kept = ''): string {
  let bare = ''
  let changed = false
  for (let at = 0; at < word.length; ) {
    const code = codeAt(word, at)
    at += unitsOf(code)
    const character = code < 0x80 ? undefined : bareCharacter(code)
    const own = String.fromCodePoint(code)
    if (character === undefined || kept.includes(own)) bare += own
    else {
      bare += character
      changed = true
    }
  }
  return cutTerm(changed ? bare : word)
}

/** The longest prefix that fits into a term and ends with a whole character. */
export function cutTerm(term: string): string {
  if (term.length * 3 <= termBytesMax) return term
  let bytes = 0
  for (let at = 0; at < term.length; ) {
    const code = codeAt(term, at)
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > termBytesMax) return term.slice(0, at)
    at += unitsOf(code)
  }
  return term
}

function composedOf(word: string): string {
  let result = ''
  let last: number | undefined
  for (let at = 0; at < word.length; ) {
    const code = codeAt(word, at)
    at += unitsOf(code)
    const both = last === undefined ? undefined : compose(last, code)
    if (both === undefined && last !== undefined) result += String.fromCodePoint(last)
    last = both ?? code
  }
  return last === undefined ? result : result + String.fromCodePoint(last)
}
