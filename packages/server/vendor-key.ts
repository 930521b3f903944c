// The vendor of a build: the public key of its licenses, from ANNAL_VENDOR_KEY.
import { isPublicKey } from './src/license/license-file.ts'

/** Replacements for esbuild; none without a key. Throws for an invalid key, so that no build is made with one. */
export function vendorDefines({ ANNAL_VENDOR_KEY: key = '' }: NodeJS.ProcessEnv): Record<string, string> {
  if (key === '') return {}
  if (isPublicKey(key)) return { ANNAL_VENDOR_KEY: JSON.stringify(key) }
  throw new Error('ANNAL_VENDOR_KEY must be 32 bytes in base64url, as `annal license keys` prints them')
}
