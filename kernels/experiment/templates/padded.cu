// A tiled matrix product whose tiles are stored transposed, with PAD unused cells at the end of each row.
//
// The threads of a warp write and read down a column of a tile. Without padding, its cells are 32 words apart, all in
// the same bank. So a warp waits for 32 passes. With one more cell in each row they are 33 words apart, in 32 different
// banks. With an even PAD, cells of a column still share a bank. Rows of 34 words use only 16 of the 32 banks.

#define PAD 0
#define TILE_WIDTH 32

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH + PAD];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH + PAD];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int column = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        Mds[tx][ty] = row < Width && start + tx < Width ? M[row * Width + start + tx] : 0.0f;
        Nds[tx][ty] = start + ty < Width && column < Width ? N[(start + ty) * Width + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += Mds[k][ty] * Nds[tx][k];
        }
        __syncthreads();
    }
    if (row < Width && column < Width) {
        P[row * Width + column] = sum;
    }
}
