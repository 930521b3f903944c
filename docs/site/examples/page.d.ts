// What docs/try.md gives to its examples: the fields above the code.
declare const url: string
declare const token: string | undefined
