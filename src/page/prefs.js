// Choices of the user that the browser keeps.

// The value of a choice, or null.
export function stored(name) {
  try {
    return localStorage.getItem(`pgdisque-${name}`);
  } catch {
    return null; // the browser keeps nothing
  }
}

export function store(name, value) {
  try {
    localStorage.setItem(`pgdisque-${name}`, value);
  } catch {
    // The choice lasts until the page is loaded again.
  }
}
