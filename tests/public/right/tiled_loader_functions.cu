#define TILE_WIDTH 16
typedef float Tile[TILE_WIDTH][TILE_WIDTH];

__device__ void loadTile(Tile tile, const float* from, int firstRow, int firstCol, int n) {
    int r = firstRow + threadIdx.y, c = firstCol + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = (r < n && c < n) ? from[r * n + c] : 0.0f;
}

__device__ float multiplyTile(const Tile a, const Tile b) {
    float s = 0;
    for (int k = 0; k < TILE_WIDTH; ++k) s += a[threadIdx.y][k] * b[k][threadIdx.x];
    return s;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ Tile left, right;
    int top = blockIdx.y * TILE_WIDTH, side = blockIdx.x * TILE_WIDTH;
    float sum = 0;
    for (int k = 0; k < Width; k += TILE_WIDTH) {
        loadTile(left, M, top, k, Width);
        loadTile(right, N, k, side, Width);
        __syncthreads();
        sum += multiplyTile(left, right);
        __syncthreads();
    }
    int row = top + threadIdx.y, col = side + threadIdx.x;
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
