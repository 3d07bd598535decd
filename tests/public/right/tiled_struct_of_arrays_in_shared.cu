#define TILE_WIDTH 16
struct Workspace {
    float a[TILE_WIDTH][TILE_WIDTH];
    float b[TILE_WIDTH][TILE_WIDTH];
};
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ Workspace ws;
    float(&a)[TILE_WIDTH][TILE_WIDTH] = ws.a;
    float(&b)[TILE_WIDTH][TILE_WIDTH] = ws.b;
    int2 t = make_int2(threadIdx.x, threadIdx.y);
    int2 g = make_int2(blockIdx.x * TILE_WIDTH + t.x, blockIdx.y * TILE_WIDTH + t.y);
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        a[t.y][t.x] = g.y < Width && k0 + t.x < Width ? M[g.y * Width + k0 + t.x] : 0;
        b[t.y][t.x] = g.x < Width && k0 + t.y < Width ? N[(k0 + t.y) * Width + g.x] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += a[t.y][k] * b[k][t.x];
        __syncthreads();
    }
    if (g.x < Width && g.y < Width) P[g.y * Width + g.x] = sum;
}
