// The shop's only program: each page calls the function that its body names. State lives in localStorage, so that
// clearing the site's data is a fresh start. Query parameters make it misbehave: ?slow=MILLISECONDS delays the daily
// offer, ?broken=total adds the prices up wrongly.
"use strict";

const NAMES = ["Red mug", "Blue mug", "Green teapot", "White plate", "Oak tray", "Linen towel", "Glass jar", "Brass spoon"];
const PRODUCTS = Array.from({ length: 40 }, (_, index) => ({
  id: index + 1,
  name: index < NAMES.length ? NAMES[index] : `Postcard ${index - NAMES.length + 1}`,
  cents: 450 + ((index * 325) % 4000),
}));
const parameters = new URLSearchParams(location.search);
const byId = (id) => document.getElementById(id);
const euros = (cents) => `€${(cents / 100).toFixed(2)}`;
const read = (key, otherwise) => JSON.parse(localStorage.getItem(key) ?? JSON.stringify(otherwise));
const write = (key, value) => localStorage.setItem(key, JSON.stringify(value));
const cart = () => read("cart", []);

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function showHeader() {
  const count = cart().reduce((sum, line) => sum + line.quantity, 0);
  byId("cart-link").textContent = `Cart (${count})`;
}

function addToCart(id, quantity, size) {
  const lines = cart();
  const line = lines.find((each) => each.id === id && each.size === size);
  if (line) line.quantity += quantity;
  else lines.push({ id, quantity, size });
  write("cart", lines);
  showHeader();
}

const PAGES = {
  login() {
    byId("login").addEventListener("submit", (event) => {
      event.preventDefault();
      const right = byId("email").value === "ada@example.com" && byId("password").value === "lovelace";
      if (!right) {
        byId("error").textContent = "Wrong email or password";
        return;
      }
      write("user", byId("email").value);
      if (byId("remember").checked) write("remembered", byId("email").value);
      location.href = `products.html${location.search}`;
    });
    byId("email").value = read("remembered", "");
  },

  products() {
    const visits = read("visits", 0) + 1;
    write("visits", visits);
    byId("visit").textContent = `Visit ${visits}, ${new Date().toISOString()}`;
    const show = () => {
      const wanted = byId("search").value.trim().toLowerCase();
      const found = PRODUCTS.filter((product) => product.name.toLowerCase().includes(wanted));
      byId("products").replaceChildren(...found.map(productRow));
      byId("found").textContent = found.length ? `${found.length} products` : "Nothing found";
    };
    byId("search").addEventListener("input", show);
    setTimeout(() => byId("offer").append(make("p", { textContent: "Offer of the day: Green teapot" })),
      Number(parameters.get("slow") ?? 0));
    show();
  },

  product() {
    const product = PRODUCTS.find((each) => each.id === Number(parameters.get("id"))) ?? PRODUCTS[0];
    byId("name").textContent = product.name;
    byId("price").textContent = euros(product.cents);
    document.title = product.name;
    byId("add").addEventListener("click", () => {
      addToCart(product.id, Number(byId("quantity").value), byId("size").value);
      byId("added").textContent = `Added ${byId("quantity").value} × ${product.name} (${byId("size").value})`;
    });
  },

  cart() {
    const show = () => {
      const lines = cart();
      byId("lines").replaceChildren(...lines.map((line, index) => cartLine(line, index, show)));
      byId("total").textContent = lines.length ? `Total ${euros(total(lines))}` : "Your cart is empty";
      byId("checkout").disabled = lines.length === 0;
      showHeader();
    };
    byId("checkout").addEventListener("click", () => { location.href = `checkout.html${location.search}`; });
    show();
  },

  checkout() {
    byId("total").textContent = `Total ${euros(total(cart()))}`;
    byId("terms").addEventListener("change", () => { byId("place").disabled = !byId("terms").checked; });
    byId("order").addEventListener("submit", (event) => {
      event.preventDefault();
      byId("question").textContent = `Order for ${byId("full-name").value} by ${byId("shipping").value}?`;
      byId("confirm").showModal();
    });
    byId("no").addEventListener("click", () => byId("confirm").close());
    byId("yes").addEventListener("click", () => {
      byId("confirm").close();
      write("cart", []);
      showHeader();
      byId("order").hidden = true;
      byId("thanks").hidden = false;
    });
  },

  reviews() {
    byId("delete").addEventListener("click", () => { byId("deleted").textContent = "Account deleted"; });
  },
};

function productRow(product) {
  const link = make("a", { href: `product.html?id=${product.id}`, textContent: product.name });
  const add = make("button", { className: "quiet", textContent: "Add" });
  add.setAttribute("aria-label", `Add ${product.name}`);
  add.addEventListener("click", () => addToCart(product.id, 1, "Medium"));
  return make("li", {}, link, make("span", { textContent: euros(product.cents) }), add);
}

function cartLine(line, index, show) {
  const product = PRODUCTS.find((each) => each.id === line.id);
  const remove = make("button", { className: "quiet", textContent: "Remove" });
  remove.setAttribute("aria-label", `Remove ${product.name}`);
  remove.addEventListener("click", () => {
    write("cart", cart().filter((_, position) => position !== index));
    show();
  });
  return make("li", {}, make("span", { textContent: `${line.quantity} × ${product.name} (${line.size})` }), remove);
}

function total(lines) {
  const sum = lines.reduce((all, line) => all + line.quantity * PRODUCTS.find((each) => each.id === line.id).cents, 0);
  return parameters.get("broken") === "total" ? sum + 100 : sum;
}

addEventListener("DOMContentLoaded", () => {
  const page = document.body.dataset.page;
  if (page !== "login") {
    if (read("user", null) === null) location.replace("index.html");
    showHeader();
    byId("log-out").addEventListener("click", () => localStorage.removeItem("user"));
  }
  PAGES[page]();
});
