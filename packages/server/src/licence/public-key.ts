/** The key that licences are checked with; NDD_LICENSE_PUBLIC_KEY puts another in its place (decision 0010). */
export const builtInPublicKey = 'h54gwqyvEdzVhrP3wk5DceLbZXknfXOVzWgHK2hyYN4'
