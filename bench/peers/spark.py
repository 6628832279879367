#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spark on two local threads, partitionOverwriteMode=dynamic. Its time includes the start of a Java machine.

Cannot: keep partition columns in the files, make a `geo` entry, give files fixed names, or exchange a partition in one step
(the folder is deleted, then the new one renamed into its place); verify what was staged.
"""
from job import *

sql = need("pyspark.sql")
import shutil
if shutil.which("java") is None:
    print("no java", file=sys.stderr)
    sys.exit(77)
F, Window = sql.functions, sql.Window
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
settings = {"spark.driver.memory": "6g", "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
            "spark.sql.sources.partitionOverwriteMode": "dynamic", "spark.sql.shuffle.partitions": "4",
            "spark.sql.sources.partitionColumnTypeInference.enabled": "false", "spark.sql.parquet.compression.codec": COMPRESSION}
builder = sql.SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
step("start")
frame = spark.read.parquet(source).withColumn("asset_key", F.substring(F.sha2(F.concat_ws("|", *IDENTITY), 256), 1, 24))
counts = frame.agg(F.count("*"), *[F.count(name) for name in (*FILLED, "geometry")], F.countDistinct("state", "month")).first()
require(counts[0] and len(set(counts[:-1])) == 1, "rows lack a value")
step("check")
order = Window.partitionBy("asset_key").orderBy(F.col("published_at").desc())
kept = frame.withColumn("rank", F.row_number().over(order)).where("rank = 1").drop("rank")
kept = kept.repartition(4, "state", "month") if counts[-1] > 1 else kept.coalesce(1)
kept.sortWithinPartitions("state", "month", "published_at", "asset_key").write.mode("overwrite").partitionBy("state", "month").parquet(f"{root}/queue")
step("key to write")
back = spark.read.parquet(f"{root}/queue").agg(F.count("*"), F.countDistinct("asset_key")).first()
require(back[0] == back[1], "read back", back)
step("re-read")
report(rows_in=counts[0], rows_out=back[0], partitions=counts[-1])
# Waited for, so that the Java machine's processor seconds and memory count as this process's.
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
java.wait()
