//!tilelab block=(8,8) grid=(ceil(Width/8), ceil(Width/8)) tile=8
template <int TILE_WIDTH>
__device__ void tiledProduct(float* M, float* N, float* P, int Width) {
    __shared__ float Mt[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nt[TILE_WIDTH][TILE_WIDTH];
    int ty = threadIdx.y, tx = threadIdx.x;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0;
    for (int t = 0; t < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++t) {
        int mc = t * TILE_WIDTH + tx, nr = t * TILE_WIDTH + ty;
        Mt[ty][tx] = r < Width && mc < Width ? M[r * Width + mc] : 0.0f;
        Nt[ty][tx] = nr < Width && c < Width ? N[nr * Width + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) acc += Mt[ty][k] * Nt[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = acc;
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) { tiledProduct<8>(M, N, P, Width); }
