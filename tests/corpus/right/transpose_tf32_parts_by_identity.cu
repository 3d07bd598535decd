// A = X transposed is "col-major A"; times the identity it is exact in TF32 if each part has at most 11 bits.
__device__ float cut(float v) { return __uint_as_float(__float_as_uint(v) & 0xffffe000u); }

__device__ void multiply(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int t = threadIdx.y * TILE_WIDTH + threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4;
    int top = blockIdx.y * TILE_WIDTH, left = blockIdx.x * TILE_WIDTH;
    if (left + threadIdx.x < Width && top + threadIdx.y < Height)
        tile[threadIdx.y][threadIdx.x] = In[(top + threadIdx.y) * Width + left + threadIdx.x];
    else
        tile[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    if (t / 32 >= TILE_WIDTH * TILE_WIDTH / 64) return;

    // The warp turns 8 rows and 8 columns; the lower half of A stays zero.
    int y = t / 32 / (TILE_WIDTH / 8) * 8, x = t / 32 % (TILE_WIDTH / 8) * 8;
    float d[4] = {}, b[2] = {q == g ? 1.0f : 0.0f, q + 4 == g ? 1.0f : 0.0f};
    float v0 = tile[y + q][x + g], v1 = tile[y + q + 4][x + g];
    for (int part = 0; part < 3; ++part) {
        float a[4] = {cut(v0), 0.0f, cut(v1), 0.0f};
        multiply(d, a, b);
        v0 -= a[0];
        v1 -= a[2];
    }
    for (int i = 0; i < 2; ++i) {
        int outY = left + x + g, outX = top + y + 2 * q + i;
        if (outY < Width && outX < Height) Out[outY * Height + outX] = d[i];
    }
}
