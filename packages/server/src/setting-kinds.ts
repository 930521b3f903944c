// The kinds of settings: how the text of an environment variable becomes a value, and why it is rejected.
import { type BucketPlace, parseBucketPlace } from './backups/bucket-place.ts'

const onOff = ['on', 'off'] as const

/** The documentation of a setting. */
export interface Setting {
  readonly name: string
  readonly fallback: string
  readonly meaning: string
}

/** A setting with its parser. */
export interface SettingOf<T> extends Setting {
  /** Whether its value may be shown. For other settings, only whether they are set is shown. */
  readonly isShown: boolean
  /** Parses a text. `problem` says for the operator why it is rejected. */
  parse(text: string): { readonly value: T; readonly problem?: string }
}

/** The meaning of a setting, for the documentation. */
export interface About {
  readonly meaning: string
  readonly shown?: boolean
}

/** Any text. */
export function text(name: string, { fallback = '', meaning, shown = false }: About & { readonly fallback?: string }) {
  return { name, fallback, meaning, isShown: shown, parse: (value: string) => ({ value }) } satisfies SettingOf<string>
}

/** An empty text means undefined. */
export function optionalText(name: string, about: About): SettingOf<string | undefined> {
  return { ...text(name, about), parse: (value) => ({ value: value || undefined }) }
}

/** The default and the bounds of a number. */
export interface Bounds {
  readonly fallback: number
  readonly min: number
  readonly max: number
}

/** A whole number. */
export function whole(name: string, { fallback, min, max, meaning, shown = true }: About & Bounds): SettingOf<number> {
  return {
    name,
    fallback: String(fallback),
    meaning,
    isShown: shown,
    parse(given) {
      const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
      if (value >= min && value <= max) return { value }
      return { value, problem: `${name} must be a whole number from ${min} to ${max}, not "${given}"` }
    },
  }
}

/** A whole number; 0 means undefined. */
export function wholeOrNone(name: string, about: About & Bounds): SettingOf<number | undefined> {
  const setting = whole(name, about)
  return {
    ...setting,
    parse(given) {
      const { value, ...rest } = setting.parse(given)
      return { value: value === 0 ? undefined : value, ...rest }
    },
  }
}

/** One of several words. */
export function choice<T extends string>(
  name: string,
  choices: readonly T[],
  { fallback, meaning, shown = true }: About & { readonly fallback: T },
): SettingOf<T> {
  return {
    name,
    fallback,
    meaning,
    isShown: shown,
    parse(given) {
      const value = choices.find((candidate) => candidate === given.toLowerCase())
      if (value !== undefined) return { value }
      return { value: fallback, problem: `${name} must be one of ${choices.join(', ')}, not "${given}"` }
    },
  }
}

/** `on` or `off`. */
export function flag(name: string, about: About & { readonly fallback: 'on' | 'off' }): SettingOf<boolean> {
  const setting = choice(name, onOff, about)
  return {
    ...setting,
    parse(given) {
      const { value, ...rest } = setting.parse(given)
      return { value: value === 'on', ...rest }
    },
  }
}

/** Entries separated by commas. `wanted` describes a valid entry in the error message. */
export function list(
  name: string,
  {
    meaning,
    wanted,
    parse,
  }: About & { readonly wanted: string; readonly parse: (entry: string) => string | undefined },
): SettingOf<readonly string[]> {
  return {
    name,
    fallback: '',
    meaning,
    isShown: true,
    parse(given) {
      const entries = given
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '')
      const refused = entries.find((entry) => parse(entry) === undefined)
      const value = entries.flatMap((entry) => parse(entry) ?? [])
      return refused === undefined
        ? { value }
        : { value, problem: `${name} must name ${wanted}, not "${withoutPassword(refused)}"` }
    },
  }
}

/** An `s3://` address; an empty text means undefined. */
export function bucket(name: string, about: About): SettingOf<BucketPlace | undefined> {
  return {
    ...text(name, about),
    parse(given) {
      const value = parseBucketPlace(given)
      if (given === '' || value !== undefined) return { value }
      return { value, problem: `${name} must be s3://BUCKET or s3://BUCKET/PREFIX, not "${given}"` }
    },
  }
}

/** A token that a header can carry; an empty text means undefined. */
export function token(name: string, about: About): SettingOf<string | undefined> {
  return {
    ...text(name, about),
    parse(given) {
      const value = given || undefined
      if (value === undefined || /^[\x21-\x7e]+$/.test(value)) return { value }
      return { value, problem: `${name} must consist of visible ASCII characters, since a header carries it` }
    },
  }
}

/** A text of one form. `wanted` describes it in the error message; an empty text is allowed. */
export function formed(
  name: string,
  {
    wanted,
    parse,
    ...about
  }: About & {
    readonly fallback?: string
    readonly wanted: string
    readonly parse: (given: string) => string | undefined
  },
): SettingOf<string> {
  return {
    ...text(name, about),
    parse(given) {
      const value = given === '' ? '' : parse(given)
      if (value !== undefined) return { value }
      return { value: given, problem: `${name} must be ${wanted}, not "${withoutPassword(given)}"` }
    },
  }
}

/** What stands before the host of an address may be a password, and messages get into logs. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/.*@/, '//***@')
}
