#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float m[TILE_WIDTH][18];
    __shared__ float s[TILE_WIDTH][TILE_WIDTH];
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float v = 0;
    for (int p = 0; p < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++p) {
        if (threadIdx.x % 4 == 0) {
            int c = p * TILE_WIDTH + threadIdx.x;
            float4 f = make_float4(0, 0, 0, 0);
            if (row < Width && c + 3 < Width && (row * Width + c) % 4 == 0) f = *(float4*)&M[row * Width + c];
            else { for (int k = 0; k < 4; k++) if (row < Width && c + k < Width) (&f.x)[k] = M[row * Width + c + k]; }
            *(float4*)&m[threadIdx.y][threadIdx.x] = f;
        }
        int r = p * TILE_WIDTH + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = r < Width && col < Width ? N[r * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) v += m[threadIdx.y][k] * s[k][threadIdx.x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = v;
}
