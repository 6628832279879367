# SPDX-License-Identifier: Apache-2.0
"""Geometry looked up from a reference layer: which row gets which feature, what is folded, what is refused, what is counted."""
import json

from loading import Loading
from support import SOURCE, main

SQUARES = [("TX", "Travis County", 0), ("TX", "Doña Ana", 10), ("OK", "Travis", 20), ("LA", "Orleans Parish", 30)]


def square(x, size=2):
    return {"type": "Polygon", "coordinates": [[[x, 0], [x + size, 0], [x + size, size], [x, size], [x, 0]]]}


def layer(features, crs=None):
    collection = {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": p, "geometry": g} for p, g in features]}
    if crs:
        collection["crs"] = {"type": "name", "properties": {"name": crs}}
    return json.dumps(collection)


class Lookup(Loading):
    def counties(self, name="ref/counties.geojson", squares=SQUARES, **more):
        return self.write(name, layer([({"STUSPS": s, "NAME": n, "FIPS": f"{i:03}"}, square(x)) for i, (s, n, x) in enumerate(squares)], **more))

    def lookup_spec(self, more="", rest="", columns=None, file="ref/counties.geojson", on="{state: STUSPS, county: NAME}", **fields):
        geometry = f"{{from: {{lookup: {{file: {file}, on: {on}{more}}}}}{rest}}}"
        return self.queue_spec(columns=columns or {}, revision=None, partition="[]", key="{identity: [id]}", geometry=geometry,
                               **{"quarantine": "{policy: allow}", **fields})

    def rows(self, *places):
        return self.write("queue.csv", "id,state,county\n" + "".join(f"Q{i},{s},{c}\n" for i, (s, c) in enumerate(places)))

    def placed(self):
        """{id: x of the left edge, or None}"""
        return {i: g and g.bounds[0] for i, g in self.shapes("", "id")}

    def test_exact_values_only(self):
        self.counties()
        data = self.rows(("TX", "Travis County"), ("TX", "Travis"), ("OK", "Travis"), ("TX", "travis county"), ("TX", ""), ("LA", "Orleans Parish "))
        report = self.load(self.lookup_spec(), data)
        self.assertEqual(self.placed(), {"Q0": 0, "Q2": 20})
        self.assertEqual(self.quarantine(report, "reason, \"column\", row_number"), [
            ("no feature of counties.geojson for state=TX, county=Travis", "geometry", 2),
            ("no feature of counties.geojson for state=TX, county=travis county", "geometry", 4),
            ("no feature of counties.geojson for state=TX, county=(missing)", "geometry", 5),
            ("no feature of counties.geojson for state=LA, county=Orleans Parish ", "geometry", 6)])
        self.assertTrue(any(w.startswith("4 rows found no feature in counties.geojson: state=LA, county=Orleans Parish  (1); ")
                            for w in report["warnings"]), report["warnings"])

    def test_declared_folding(self):
        self.counties()
        places = ("TX", "TRAVIS"), ("TX", "Dona Ana County"), ("tx", "DOÑA  ANA"), ("LA", "orleans"), ("LA", "Countyside")
        report = self.load(self.lookup_spec(", fold: [case, accents], words: [County, Parish]"), self.rows(*places))
        self.assertEqual(self.placed(), {"Q0": 0, "Q1": 10, "Q2": 10, "Q3": 30})
        self.assertEqual(report["quarantined"], 1)  # a word inside another is none

    def test_words_keep_case_unless_it_is_folded(self):
        self.counties()
        self.load(self.lookup_spec(", words: [County]"), self.rows(("TX", "Travis County"), ("TX", "Travis"), ("TX", "Travis county")))
        self.assertEqual(self.placed(), {"Q0": 0, "Q1": 0})

    def test_missing_allowed(self):
        self.counties()
        report = self.load(self.lookup_spec(rest=", missing: allow"), self.rows(("TX", "Nowhere"), ("TX", "Nowhere"), ("OK", "Travis")))
        self.assertEqual(self.placed(), {"Q0": None, "Q1": None, "Q2": 20})
        self.assertEqual((report["quarantined"], report["rows_written"]), (0, 3))
        self.assertEqual(report["warnings"], ["2 rows found no feature in counties.geojson: state=TX, county=Nowhere (2)"])

    def test_over_the_limit(self):
        self.counties()
        self.refused(self.lookup_spec(quarantine=None), self.rows(("TX", "Nowhere"), ("OK", "Travis")), said=["county=Nowhere"])

    def test_many_spellings_are_cut(self):
        self.counties()
        report = self.load(self.lookup_spec(rest=", missing: allow"), self.rows(*[("TX", f"Place {i}") for i in range(9)]))
        self.assertIn("; and 3 more spellings", report["warnings"][0])

    def test_two_features_with_one_key(self):
        self.counties(squares=SQUARES + [("TX", "Travis", 40)])
        self.load(self.lookup_spec(), self.rows(("TX", "Travis")))  # they differ, as they are
        self.assertEqual(self.placed(), {"Q0": 40})
        error = self.refused(self.lookup_spec(", words: [County]"), self.rows(("TX", "Travis")), said=["Travis County", "feature"])
        self.assertEqual(error["code"], "lookup.double")
        self.assertIn("features 1 (state=TX, county=Travis County) and 5 (state=TX, county=Travis)", error["where"])
        self.assertIn("leave out less", error["hint"])

    def test_number_against_text(self):
        self.counties()
        data = self.write("queue.csv", "id,fips\nA,003\nB,3\n")
        self.load(self.lookup_spec(on="{fips: FIPS}", columns={"fips": "{type: text}"}), data)
        self.assertEqual(self.placed(), {"A": 30})  # a leading zero is part of a name

    def test_points(self):
        arch = {"type": "Polygon", "coordinates": [[[0, 0], [6, 0], [6, 6], [4, 6], [4, 2], [2, 2], [2, 6], [0, 6], [0, 0]]]}
        self.write("ref/counties.geojson", layer([({"STUSPS": "TX", "NAME": "Arch"}, arch)]))
        shapely = self.need("shapely")
        polygon, found = shapely.geometry.shape(arch), {}
        for word in ("point_on_surface", "centroid"):
            self.load(self.lookup_spec(f", as: {word}"), self.rows(("TX", "Arch")))
            (_, found[word]), = self.shapes("", "id")
        self.assertTrue(polygon.contains(found["point_on_surface"]))
        self.assertFalse(polygon.contains(found["centroid"]))
        self.assertAlmostEqual(found["centroid"].x, polygon.centroid.x)
        self.assertAlmostEqual(found["centroid"].y, polygon.centroid.y)

    def test_transformed(self):
        self.counties(squares=[("TX", "A", 500000)], crs="urn:ogc:def:crs:EPSG::26914")
        report = self.load(self.lookup_spec(", as: centroid", rest=", to_crs: EPSG:4326"), self.rows(("TX", "A")))
        self.assertEqual(report["rows_written"], 1)
        (_, point), = self.shapes("", "id")
        # One metre east of the zone's central meridian and one north of the equator: 1 / 0.9996 of a metre each.
        self.assertAlmostEqual(point.x, -99 + 1 / 0.9996 / 111319.4908, places=8)
        self.assertAlmostEqual(point.y, 1 / 0.9996 / 110574.2758, places=8)

    def test_crs(self):
        self.counties(crs="urn:ogc:def:crs:EPSG::26914")
        self.refused(self.lookup_spec(rest=", crs: EPSG:4326"), self.rows(("OK", "Travis")), said=["EPSG:26914", "EPSG:4326", "counties.geojson"])
        self.load(self.lookup_spec(), self.rows(("OK", "Travis")))
        geo = json.loads(self.metadata("")[1]["geo"])
        self.assertEqual(geo["columns"]["geometry"]["crs"]["id"], {"authority": "EPSG", "code": 26914})

    def test_what_is_not_there(self):
        data = self.rows(("TX", "Travis"))
        self.refused(self.lookup_spec(), data, code=6, said=["counties.geojson"])
        self.counties()
        self.refused(self.lookup_spec(on="{state: STUSP}"), data, said=["no column STUSP", "is it STUSPS?"])
        self.refused(self.lookup_spec(on="{parish: NAME}"), data, said=["parish"])
        self.write("ref/plain.csv", "STUSPS,NAME\nTX,Travis\n")
        self.refused(self.lookup_spec(file="ref/plain.csv"), data, said=["no geometry"])

    def test_layer_by_name(self):
        geopandas, box = self.need("geopandas"), self.need("shapely").box
        (self.dir / "ref").mkdir()
        for name, x in (("old", 0), ("new", 50)):
            geopandas.GeoDataFrame({"NAME": ["Travis"]}, geometry=[box(x, 0, x + 1, 1)], crs="EPSG:4326").to_file(self.dir / "ref/all.gpkg", layer=name)
        data = self.rows(("TX", "Travis"))
        self.refused(self.lookup_spec(on="{county: NAME}", file="ref/all.gpkg"), data, said=["several layers"])
        self.load(self.lookup_spec(", layer: new", on="{county: NAME}", file="ref/all.gpkg"), data)
        self.assertEqual(self.placed(), {"Q0": 50})

    def test_a_feature_without_geometry(self):
        self.write("ref/counties.geojson", layer([({"STUSPS": "TX", "NAME": "A"}, None), ({"STUSPS": "TX", "NAME": "B"}, square(1))]))
        report = self.load(self.lookup_spec(), self.rows(("TX", "A"), ("TX", "B")))
        self.assertEqual(self.quarantine(report, "reason, row_number"), [("geometry is missing", 1)])

    def test_the_layer_is_a_source(self):
        path = self.counties()
        spec, data = self.lookup_spec(), self.rows(("OK", "Travis"), ("TX", "Travis County"))
        first = self.load(spec, data)
        self.assertEqual([(s["name"], s.get("role")) for s in first["sources"]], [("queue.csv", None), ("counties.geojson", "lookup")])
        record, = self.ledger("")
        self.assertEqual([(s["name"], s.get("role"), len(s["sha256"])) for s in record["sources"]],
                         [("queue.csv", None, 64), ("counties.geojson", "lookup", 64)])
        self.assertEqual(self.load(spec, data)["outcome"], "unchanged")
        self.counties(squares=[(s, n, x + (100 if s == "OK" else 0)) for s, n, x in SQUARES])
        moved = self.load(spec, data)
        self.assertEqual((moved["outcome"], moved["partitions"][0]["outcome"]), ("loaded", "replaced"))
        self.assertEqual(self.placed(), {"Q0": 120, "Q1": 0})
        self.assertTrue(path.exists())

    def test_several_sources_read_the_layer_once(self):
        self.counties()
        one = self.write("a.csv", "id,state,county\nA,OK,Travis\n")
        two = self.write("b.csv", "id,state,county\nB,TX,Doña Ana\n")
        report = self.load(self.lookup_spec(source='{files: "*.csv", several: union}'), one, two)
        self.assertEqual(report["rows_written"], 2)
        self.assertEqual(self.placed(), {"A": 20, "B": 10})


class Real(Loading):
    dataset = "northamerica_by_country"

    def test_northamerica_by_country(self):
        data = self.shared("real/northamerica/PowerPlantsAllGE100MW_NorthAmerica_201606.xlsx")
        for path in self.shared("real/naturalearth-shp").iterdir():
            self.copy(path, path.name)
        spec = self.spec((SOURCE / "examples/northamerica_by_country.yaml").read_text())
        report = self.load(spec, data)
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"], report["warnings"]), (2129, 2129, 0, []))
        self.assertEqual({p["partition"]: p["rows"] for p in report["partitions"]},
                         {"country=Canada": 249, "country=Mexico": 116, "country=United%20States%20of%20America": 1764})
        for country in ("Canada", "Mexico", "United%20States%20of%20America"):
            self.assertEqual(len({g.wkb for g, in self.shapes("country=" + country)}), 1)
        self.assertEqual(self.load(spec, data)["outcome"], "unchanged")

    def test_without_the_declared_name(self):
        data = self.shared("real/northamerica/PowerPlantsAllGE100MW_NorthAmerica_201606.xlsx")
        for path in self.shared("real/naturalearth-shp").iterdir():
            self.copy(path, path.name)
        text = (SOURCE / "examples/northamerica_by_country.yaml").read_text().replace(", map: {United States: United States of America}", "")
        self.refused(self.spec(text), data, said=["1,764 of 2,129", "no feature of naturalearth_lowres.shp for country=United States"])


main()
