"""Words that faker draws from, by the names that they have in Maestro's faker: a few of each kind, in English."""

from collections.abc import Mapping

_LISTS = """
address.citySuffix: ton, ville, field, port, burgh, side, mouth
address.streetSuffix: Street, Road, Avenue, Lane, Square, Terrace, Way
animal.name: badger, beaver, donkey, falcon, goose, hedgehog, lynx, otter, owl, seal, sparrow, wolf
app.name: Daybook, Flowlist, Noteberry, Pathfinder, Quickshelf, Tidepool, Windmill
artist.name: Cassatt, Dürer, Hokusai, Kahlo, Klee, Rembrandt, Turner, Vermeer
beer.name: Amber Mill, Cellar Dark, Copper Ale, Harvest Wheat, Old Lighthouse, Pale Harbor
beer.style: Amber Ale, Bock, Pilsner, Porter, Stout, Wheat Beer
bloodtype.aboTypes: A, AB, B, O
book.genre: Biography, Essay, Fable, Fairy tale, Mystery, Novel, Science fiction
book.publisher: Harbor Press, Lantern Books, Northgate, Riverbank House, Willow & Sons
book.title: A Map of Rain, Seven Bridges, The Copper Door, The Long Orchard, The Quiet Harbor, Winter Letters
business.creditCardType: visa, mastercard, american_express, discover
cat.breed: Abyssinian, Birman, Maine Coon, Manx, Persian, Ragdoll, Siamese
cat.name: Biscuit, Felix, Luna, Misty, Oscar, Smudge, Tiger
coffee.blendName: Blue Morning, Cloud Nine, Dark Orchard, Harbor Roast, Summer Bean
color.hex: #1b9e77, #2f4b7c, #66a61e, #7570b3, #a05195, #d95f02, #e7298a
commerce.brand: Aldermoor, Brightwater, Kestrel, Northwind, Oakline, Summerfield
commerce.department: Baby, Books, Clothing, Electronics, Games, Garden, Grocery, Health, Home, Music, Shoes, Toys
commerce.material: Aluminum, Bronze, Concrete, Copper, Cotton, Granite, Iron, Leather, Linen, Marble, Paper, Steel, Wool
commerce.vendor: Corner Shop, Market Hall, Old Mill, Riverside Stores, Union Trade
company.buzzword: adaptive, balanced, digitized, extended, integrated, open-source, robust, seamless
company.industry: Banking, Construction, Education, Farming, Fishery, Insurance, Logistics, Printing, Textiles
company.profession: accountant, architect, baker, carpenter, doctor, engineer, gardener, nurse, teacher
company.suffix: Group, Inc, LLC, and Sons
computer.operatingSystem: Debian 12, Fedora 41, macOS 14, Ubuntu 24.04, Windows 11
country.capital: Accra, Bern, Canberra, Dublin, Hanoi, Lima, Lisbon, Nairobi, Oslo, Ottawa, Tokyo, Vienna
demographic.maritalStatus: Divorced, Married, Never married, Separated, Widowed
demographic.sex: Female, Male
dessert.variety: Apple Pie, Brownie, Cheesecake, Ice Cream, Rice Pudding, Tart
device.manufacturer: Apple, Fairphone, Google, Motorola, Nokia, OnePlus, Samsung, Sony
device.modelName: Galaxy S24, iPhone 15, Moto G84, Pixel 9, Xperia 5
device.platform: Android OS, iOS
dog.breed: Beagle, Border Collie, Boxer, Collie, Dachshund, Greyhound, Poodle, Spaniel
dog.name: Bella, Bruno, Daisy, Lucky, Max, Rex, Rosie
educator.course: Bachelor of Applied Science, Bachelor of Arts, Master of Engineering, Master of Laws
educator.university: Eastbrook University, Larchwood College, Northfield University, Stonebridge Institute
food.dish: Bean Soup, Caesar Salad, Fish and Chips, Lasagne, Lentil Curry, Paella, Pierogi, Ramen, Shakshuka, Tacos
food.fruit: apple, apricot, banana, cherry, fig, grape, kiwi, lemon, mango, orange, peach, pear, plum
food.ingredient: Basil, Butter, Chickpeas, Eggs, Flour, Garlic, Honey, Lentils, Olive Oil, Rice, Tofu, Yeast
food.measurement: 1 cup, 1 pint, 1/2 cup, 1/3 quart, 1/4 gallon, 2 tablespoons, 3 teaspoons
food.spice: Black Pepper, Cardamom, Cinnamon, Cumin, Ginger, Nutmeg, Paprika, Saffron, Turmeric
food.sushi: Eel, Mackerel, Octopus, Salmon, Sea bream, Shrimp, Tuna
food.vegetable: beetroot, broccoli, carrot, celery, cucumber, fennel, leek, onion, pea, potato, spinach, tomato
gender.types: Female, Male, NonBinary
hacker.abbreviation: API, CSS, DNS, HTTP, JSON, RAM, SQL, TCP, USB
hacker.adjective: digital, multi-byte, open-source, redundant, virtual, wireless
hacker.noun: array, bandwidth, cache, driver, firewall, interface, matrix, protocol, sensor
hacker.verb: bypass, calculate, compress, connect, copy, index, parse, reboot, synthesize
hobby.activity: Baking, Birdwatching, Chess, Cycling, Gardening, Knitting, Painting, Photography, Reading
house.furniture: armchair, bed, bookcase, chair, desk, sofa, table, wardrobe
house.room: attic, bathroom, bedroom, cellar, hall, kitchen, library, living room
job.field: Accounting, Construction, Consulting, Design, Education, Farming, Marketing, Sales, Technology
job.keySkills: Communication, Leadership, Organisation, Problem solving, Teamwork
job.position: Assistant, Consultant, Coordinator, Designer, Manager, Officer, Producer, Specialist
job.seniority: Chief, Junior, Lead, Principal, Senior
marketing.buzzwords: best practice, big picture, low-hanging fruit, quick win, swim lane
measurement.height: centimeter, foot, inch, meter
medical.medicineName: aspirin, ibuprofen, paracetamol, penicillin
mood.feeling: calm, cheerful, curious, hopeful, proud, relaxed, sleepy, wonderful
movie.name: A Letter Home, Night Ferry, Paper Boats, The Clockmaker, The Last Orchard
music.genre: Blues, Classical, Electronic, Folk, Funk, Jazz, Metal, Pop, Reggae, Rock, Soul
music.instrument: Accordion, Bassoon, Cello, Clarinet, Drums, Flute, Guitar, Harp, Oboe, Piano, Trumpet, Violin
music.key: A, B, Bb, C, D, E, Eb, F, G
name.suffix: II, III, Jr., MD, PhD, Sr.
nation.capitalCity: Accra, Bern, Canberra, Dublin, Hanoi, Lima, Lisbon, Nairobi, Oslo, Ottawa, Tokyo, Vienna
nation.nationality: Austrians, Brazilians, Danes, Egyptians, Ghanaians, Japanese, Mexicans, Norwegians
programmingLanguage.name: C, Elixir, Fortran, Go, Java, JavaScript, Kotlin, Lua, Python, Ruby, Rust, Swift
space.galaxy: Andromeda, Milky Way, Sombrero Galaxy, Triangulum, Whirlpool Galaxy
space.planet: Earth, Jupiter, Mars, Mercury, Neptune, Saturn, Uranus, Venus
space.star: Aldebaran, Altair, Betelgeuse, Polaris, Rigel, Sirius, Sun, Vega
subscription.plans: Basic, Business, Free Trial, Gold, Premium, Starter, Student
tea.variety: Assam, Ceylon, Darjeeling, Earl Grey, Oolong, Rooibos, Sencha
team.creature: badgers, bears, eagles, foxes, hawks, lions, otters, wolves
team.sport: baseball, basketball, cricket, football, handball, hockey, rugby, volleyball
university.name: Eastbrook University, Larchwood College, Northfield University, Stonebridge Institute
vehicle.make: Audi, BMW, Fiat, Ford, Honda, Kia, Mazda, Opel, Renault, Toyota, Volvo
vehicle.model: Astra, Civic, Clio, Corolla, Focus, Golf, Panda, Polo, Yaris
weather.description: Cloudy, Drizzle, Fog, Heavy rain, Light snow, Partly cloudy, Rain, Sunny, Windy
word.adjective: brave, bright, calm, deep, early, gentle, quiet, sharp, warm
word.noun: anchor, bridge, candle, garden, ladder, mirror, river, window
word.verb: carry, climb, draw, gather, listen, open, plant, write
"""

WORDS: Mapping[str, tuple[str, ...]] = {
    name: tuple(words.split(", ")) for name, _, words in (line.partition(": ") for line in _LISTS.strip().splitlines())
}
