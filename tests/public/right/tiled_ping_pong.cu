#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto load = [&](int which, int ph) {
        int mc = ph * TILE_WIDTH + tx, nr = ph * TILE_WIDTH + ty;
        Ms[which][ty][tx] = (row < Width && mc < Width) ? M[row * Width + mc] : 0.0f;
        Ns[which][ty][tx] = (nr < Width && col < Width) ? N[nr * Width + col] : 0.0f;
    };
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH, now = 0;
    load(0, 0);
    float sum = 0;
    for (int ph = 0; ph < phases; ++ph) {
        __syncthreads();
        if (ph + 1 < phases) load(now ^ 1, ph + 1);
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[now][ty][k] * Ns[now][k][tx];
        now ^= 1;
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
