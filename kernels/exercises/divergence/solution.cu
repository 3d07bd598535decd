// Three kinds of elements, each with its own operation: element i is of kind i % 3.
//
// Each warp has its own kind. The threads of warp w take every third of the block's 96 elements, beginning at w. So all
// threads of a warp take the same path. This has a price: each warp accesses only every third element. Three warps read
// the same sectors, and each uses a third of their bytes.

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int kind = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + 3 * (threadIdx.x % 32) + kind;

    float value = In[i];
    if (kind == 0) {
        for (int r = 0; r < rounds; ++r) {
            value += 1.0f;
        }
    } else if (kind == 1) {
        for (int r = 0; r < rounds; ++r) {
            value -= 1.0f;
        }
    } else {
        for (int r = 0; r < rounds; ++r) {
            value *= 2.0f;
        }
    }
    Out[i] = value;
}
